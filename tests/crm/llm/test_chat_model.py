from crm.llm.chat_model import Usage


def test_what_was_used_between_two_readings() -> None:
    before, after = Usage(10, 1, 0.5), Usage(10, 1, 0.5) + Usage(4, 2, 0.25)

    assert after - before == Usage(4, 2, 0.25)
