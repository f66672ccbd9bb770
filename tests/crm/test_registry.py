import pytest

from crm.errors import UnknownCRMError
from crm.protocol import CRM
from crm.registry import DEFAULT, crm_names, get_crm


@pytest.mark.parametrize("name", crm_names())
def test_every_name_is_that_of_a_judge(name: str) -> None:
    judge = get_crm(name)

    assert isinstance(judge, CRM)
    assert judge.name == name
    assert get_crm(name) is judge


def test_the_default_comes_first_and_runs_without_texts() -> None:
    assert crm_names()[0] == DEFAULT
    assert get_crm().representation is not None


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownCRMError) as refused:
        get_crm("oracle")

    assert str(refused.value) == f"There is no CRM named 'oracle': choose one of {', '.join(crm_names())}."
