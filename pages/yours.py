"""What belongs to one person: their profile, and the uploads of their session."""

from __future__ import annotations

import streamlit as st

from pages._material import bring_material
from pages._navigation import come_through_app
from pages._profile import edit_profile
from pages._session import current_view

come_through_app()
current_view()
st.title("Yours", anchor=False)
edit_profile()
bring_material()
