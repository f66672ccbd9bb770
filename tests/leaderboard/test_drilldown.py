import numpy as np
import pytest

from leaderboard.drilldown import TopicScore, topic_scores

PROB = np.array([0.9, 0.2, 0.5, 0.8, np.nan, np.nan], dtype=np.float32)
CATEGORIES = ["Home", "Home", "Work", "Home", "Work", "Travel"]
TOPICS = ["Soup", "Soup", "Mail", "Garden", "Mail", "Trains"]


def test_win_rates_by_topic_come_best_first_and_unknown_last() -> None:
    scores = topic_scores(PROB, CATEGORIES, TOPICS, soft=False)

    assert scores[:3] == [
        TopicScore("Home", "Garden", 1.0, 1),
        TopicScore("Work", "Mail", 0.5, 1),
        TopicScore("Home", "Soup", 0.5, 2),
    ]
    assert scores[3].topic == "Trains"
    assert scores[3].n_queries == 0
    assert np.isnan(scores[3].win_rate)


def test_soft_scores_are_mean_probabilities() -> None:
    by_topic = {score.topic: score.win_rate for score in topic_scores(PROB, CATEGORIES, TOPICS, soft=True)}

    assert by_topic["Soup"] == pytest.approx(0.55)
    assert by_topic["Garden"] == pytest.approx(0.8)


def test_topics_of_one_name_in_two_categories_stay_apart() -> None:
    scores = topic_scores(np.array([0.9, 0.1]), ["Home", "Travel"], ["Soup", "Soup"], soft=False)

    assert scores == [TopicScore("Home", "Soup", 1.0, 1), TopicScore("Travel", "Soup", 0.0, 1)]
