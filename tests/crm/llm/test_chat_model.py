from crm.llm.chat_model import Usage


def test_usage_adds_up() -> None:
    assert Usage(10, 1, 0.5) + Usage(4, 2, 0.25) == Usage(14, 3, 0.75)
    assert Usage(10, None) + Usage(4, None) == Usage(14, None)
