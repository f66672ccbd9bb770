"""The web application as a server runs it: the pages of app.py, styled from the first moment, and the API."""
# ruff: noqa: E402

import gc

from pages._ui.arenas import gives_back_memory, share_arenas

gc.disable()  # While modules are imported it finds nothing, and takes a sixth of the time.
share_arenas()  # Before any of them starts a thread, which would get an arena of its own.

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import streamlit as st
from starlette.middleware import Middleware
from starlette.routing import BaseRoute, Mount, Route

from api import metrics
from api.http import PATH, application
from api.metrics import Metrics, Observe, ObservesRequests, log_request
from api.settings import Settings
from crm.processors import compute_in_one_thread
from leaderboard.render.html import STYLE_SHEET
from pages._ui.ahead import prepare_first_page
from pages._ui.first_page import FirstPage, charts_ahead, elements_ahead, style_element
from pages._ui.kept_files import LimitsKeptFiles
from pages._ui.security import SecurityHeaders
from pages._ui.server_log import set_up_log
from pages._ui.session import shared_service

END = style_element(STYLE_SHEET.read_text(encoding="utf-8")) + elements_ahead() + charts_ahead()
compute_in_one_thread()
SETTINGS = Settings.from_environment()
set_up_log()

METRICS = Metrics(shared_service) if SETTINGS.metrics else None

routes: list[BaseRoute] = []
observers: list[Observe] = [log_request]
middleware = [Middleware(SecurityHeaders), Middleware(LimitsKeptFiles), Middleware(FirstPage, end=END)]
if SETTINGS.api:
    routes.append(Mount(PATH, app=application(shared_service, SETTINGS)))
if METRICS is not None:
    routes.append(Route(metrics.PATH, METRICS.page))
    observers.append(METRICS.observe)
middleware.insert(0, Middleware(ObservesRequests, observers=observers))


@asynccontextmanager
async def prepared(_: st.App) -> AsyncIterator[None]:
    """Prepare the first page once the server is up, and give back memory while it is."""
    prepare_first_page()
    async with gives_back_memory():
        yield


app = st.App("app.py", lifespan=prepared, routes=routes, middleware=middleware)

gc.freeze()  # What the modules hold stays to the end, and is not looked through again and again.
gc.enable()
