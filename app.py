"""Entry of the web application: navigation and the warm-up of the encoder."""

import streamlit as st

from pages._navigation import navigation
from pages._private_link import open_private_link
from pages._session import warm_up

st.set_page_config(page_title="USL – which LLM suits you?", page_icon="◎", layout="wide")
st.html("<style>.stMainBlockContainer { padding-top: 4.5rem; max-width: 76rem; }</style>")
st.session_state.through_app = True
warm_up()
page = navigation()
open_private_link()
page.run()
