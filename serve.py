"""The web application as a server runs it: the pages of app.py, styled from the first moment."""

import streamlit as st
from starlette.middleware import Middleware

from leaderboard.render.html import STYLE_SHEET
from pages._ui.early_style import EarlyStyle

app = st.App("app.py", middleware=[Middleware(EarlyStyle, style=STYLE_SHEET.read_text(encoding="utf-8"))])
