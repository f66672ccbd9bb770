"""Entry of the web application: navigation and the warm-up of the judge."""

import streamlit as st

from db import DatabaseError
from leaderboard.render.html import STYLE_SHEET
from pages._ui.live_ranking import complain
from pages._ui.profile import open_private_link
from pages._ui.server_log import run_told
from pages._ui.session import navigation, warm_up
from pages._ui.turns import PAGES

ICON = (
    "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32' "
    "fill='none' stroke='%232a8a72' stroke-width='4'><circle cx='16' cy='16' r='13'/>"
    "<circle cx='16' cy='16' r='5'/></svg>"
)

with PAGES.turn() as waited:
    st.set_page_config(page_title="USL – which LLM suits you?", page_icon=ICON, layout="wide")
    # Where serve.py runs the app, the page has it already. As Markdown, which comes sooner than HTML.
    with st.container(key="style"):
        st.markdown(f"<style>{STYLE_SHEET.read_text(encoding='utf-8')}</style>", unsafe_allow_html=True)
    st.session_state.through_app = True
    page = navigation()
    open_private_link()
    try:
        with run_told(page, waited):
            page.run()
    except DatabaseError as error:  # nothing can be shown that is not in memory
        complain(str(error), key="try_page_again")
    finally:  # Not before: the default ranking needs no encoder, and would wait while it is loaded.
        warm_up()
