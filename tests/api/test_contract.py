"""The HTTP API keeps what its description promises, on requests that schemathesis makes up."""

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import positive_data_acceptance, response_schema_conformance

from api.http import application
from api.settings import Settings
from leaderboard.service import Service

serving: list[Service] = []
app = application(lambda: serving[0], Settings())
schema = schemathesis.openapi.from_asgi("/openapi.json", app)
only_made_up = schemathesis.Config.from_dict({"phases": {"coverage": {"enabled": False}}})
rank = schemathesis.openapi.from_asgi("/openapi.json", app, config=only_made_up).include(path="/rank")
FEW = settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
TYPED = ("criterion", "avoid", "interest", "format", "floor", "soft", "control", "must-have")


@pytest.fixture(autouse=True)
def _bundled(service: Service) -> None:
    serving[:] = [service]


# Names of topics, judges and LLMs are looked up: no description says which there are.
@schema.parametrize()
@FEW
def test_keeps_its_promises(case: Any) -> None:
    case.call_and_validate(excluded_checks=[positive_data_acceptance])


@rank.parametrize()
@FEW
def test_ranks_whatever_is_typed(case: Any) -> None:
    given = case.query if isinstance(case.query, dict) else {}
    case.query = {name: given[name] for name in TYPED if name in given} | {"benchmark": "dailybench"}
    case.call_and_validate(checks=[not_a_server_error, response_schema_conformance])
