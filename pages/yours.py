"""What belongs to one person: their profile, and the uploads of their session."""

from __future__ import annotations

import streamlit as st

from pages._ui.profile import edit_profile
from pages._ui.session import come_through_app, current_view
from pages._ui.uploads import show_uploads

come_through_app()
current_view()
st.title("My data", anchor=False)
edit_profile()
show_uploads()
