import pytest

from precompute.topics.languages import group_language, language_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("What is the best way to boil an egg?", "English"),
        ("如何用最简单的方法煮鸡蛋?", "Chinese"),
        ("卵をゆでる一番いい方法は?", "Japanese"),
        ("달걀을 삶는 가장 좋은 방법은?", "Korean"),
        ("Как лучше всего сварить яйцо?", "Russian"),
        ("Як найкраще зварити яйце і скільки це триває?", "Ukrainian"),
        ("ما هي أفضل طريقة لسلق البيض؟", "Arabic"),
        ("بهترین راه برای پختن تخم مرغ چیست؟", "Persian"),
        ("Wie kann ich am besten ein Ei kochen?", "German"),
        ("Quelle est la meilleure façon de cuire un œuf dans une casserole?", "French"),
        ("¿Cuál es la mejor manera de cocer un huevo?", "Spanish"),
        ("Qual é a melhor maneira de cozinhar um ovo para não estragar?", "Portuguese"),
        ("Luộc trứng như thế nào là tốt nhất với các bạn?", "Vietnamese"),
        ("用python写代码: print('hello')", None),
        ("12 + 30 = ?", None),
        ("egg", None),
        ("", None),
        ("for (int i = 0; i < s.size(); i++) { a[i] = s[i]; }", None),
    ],
)
def test_the_language_of_a_query_is_told_or_left_open(text: str, language: str | None) -> None:
    assert language_of(text) == language


CHINESE, RUSSIAN, ENGLISH = "如何煮鸡蛋?", "Как лучше сварить яйцо?", "How do I boil an egg?"


@pytest.mark.parametrize(
    ("texts", "language"),
    [
        ([CHINESE, CHINESE, ENGLISH], "Chinese"),
        ([CHINESE, ENGLISH], None),
        ([ENGLISH, ENGLISH, CHINESE], None),
        ([CHINESE, RUSSIAN, ENGLISH], "other languages"),
        (["42", "43"], None),
        ([], None),
    ],
)
def test_a_group_has_the_language_of_most_of_its_queries(texts: list[str], language: str | None) -> None:
    assert group_language(texts) == language
