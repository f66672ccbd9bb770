"""Entry of the web application: navigation and the warm-up of the encoder."""

import streamlit as st

from pages._session import warm_up

st.set_page_config(page_title="USL – which LLM suits you?", page_icon="◎", layout="wide")
st.html("<style>.stMainBlockContainer { padding-top: 4.5rem; max-width: 76rem; }</style>")
warm_up()
st.navigation(
    [
        st.Page("pages/leaderboard.py", title="Leaderboard", icon=":material/leaderboard:", default=True),
        st.Page("pages/llm.py", title="Inside an LLM", icon=":material/search:", url_path="llm"),
        st.Page("pages/about.py", title="Data and method", icon=":material/menu_book:", url_path="about"),
    ],
    position="top",
).run()
