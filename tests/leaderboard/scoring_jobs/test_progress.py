import pytest

from leaderboard.scoring_jobs.progress import Progress, State, Throughput, time_left


def test_it_is_said_in_words() -> None:
    progress = Progress(State.RUNNING, 1240, 3654, seconds_left=170.0)

    assert str(progress) == "1,240 of 3,654 pairs · about 3 min left"
    assert progress.percentage == "33 %"
    assert str(Progress(State.STOPPED, 1240, 3654)) == "1,240 of 3,654 pairs"


def test_silence_is_said_instead_of_an_estimate() -> None:
    progress = Progress(State.RUNNING, 7, 3654, seconds_left=170.0, silent=41.0)

    assert str(progress) == "7 of 3,654 pairs · no answer for 40 s"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "about 5 s left"),
        (38, "about 40 s left"),
        (58, "about 1 min left"),
        (185, "about 3 min left"),
        (5500, "about 1.5 h left"),
        (7100, "about 2 h left"),
    ],
)
def test_an_estimate_is_as_coarse_as_it_is_worth(seconds: float, words: str) -> None:
    assert time_left(seconds) == words


def test_a_hundred_percent_is_the_end() -> None:
    assert Progress(State.RUNNING, 999, 1000).percentage == "99 %"
    assert Progress(State.FINISHED, 0, 0).percentage == "100 %"


def test_the_speed_is_that_of_the_last_blocks() -> None:
    throughput = Throughput()
    assert throughput.pairs_per_second is None
    throughput.add(10, 100.0)  # the judge is loaded
    for _ in range(20):
        throughput.add(10, 0.5)

    assert throughput.pairs_per_second == pytest.approx(20)
