"""How tests open a page on a view."""

from streamlit.testing.v1 import AppTest


def open_view(page: AppTest, **parameters: str | list[str]) -> None:
    """Open the page by a link with these parameters, whose hyphens are written as underscores."""
    for name, value in parameters.items():
        page.query_params[name.replace("_", "-")] = value
    page.run()


def open_menu(page: AppTest, key: str) -> None:
    """Open a menu of the page by its key, as a click does: what is in it is drawn only then."""
    page.session_state[key] = True
    page.run()
