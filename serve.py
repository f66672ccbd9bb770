"""The web application as a server runs it: the pages of app.py, styled from the first moment, and the API."""

import streamlit as st
from starlette.middleware import Middleware
from starlette.routing import Mount

from api.http import PATH, application
from api.settings import Settings
from leaderboard.render.html import STYLE_SHEET
from pages._ui.first_page import FirstPage, charts_ahead, style_element
from pages._ui.session import shared_service

END = style_element(STYLE_SHEET.read_text(encoding="utf-8")) + charts_ahead()
SETTINGS = Settings.from_environment()

app = st.App(
    "app.py",
    routes=[Mount(PATH, app=application(shared_service, SETTINGS))] if SETTINGS.api else [],
    middleware=[Middleware(FirstPage, end=END)],
)
