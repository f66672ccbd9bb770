"""The web application as a server runs it: the pages of app.py, styled from the first moment."""

import streamlit as st
from starlette.middleware import Middleware

from leaderboard.render.html import STYLE_SHEET
from pages._ui.first_page import FirstPage, charts_ahead, style_element

END = style_element(STYLE_SHEET.read_text(encoding="utf-8")) + charts_ahead()

app = st.App("app.py", middleware=[Middleware(FirstPage, end=END)])
