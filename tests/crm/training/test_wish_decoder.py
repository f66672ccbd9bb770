import numpy as np

from crm.training.concepts import ConceptName, TurnsOfPhrase, Wish, concept_names, label_of, sharpness_of
from crm.training.wish_decoder import DecoderOptions, fit_decoder

TABLES = ("tables", "use tables", "a table, please", "put it in a table", "tabular form", "rows and columns")
FUNNY = ("funny", "make me laugh", "jokes", "humorous", "with wit", "a joke", "crack me up")
WISHES = [
    *(Wish(text, "tables") for text in TABLES),
    *(Wish(f"no {text}", "tables", more=False) for text in TABLES),
    *(Wish(text, "funny") for text in FUNNY),
    *(Wish(text, None) for text in ("names the rivers of Peru", "compares Kant and Hume", "oat milk only")),
]
_TURNS = {("n", True): ["{}"], ("n", False): ["no {}"], ("a", True): ["{}"], ("a", False): ["not {}"]}
TURNS = TurnsOfPhrase([_TURNS])
NAMES = [ConceptName("tables", "n", more=True, text="tables")]
TINY = DecoderOptions(
    layers=2, rank=4, epochs=30, batch=8, learning_rate=3e-3, named=0.0, paired=0.0, joined=0.0, seed=1
)


def test_a_small_decoder_learns_its_wishes_and_reads_in_numpy_as_it_was_trained() -> None:
    steps: list[tuple[int, int]] = []
    names = concept_names(WISHES)
    fitted = fit_decoder(WISHES, NAMES, TURNS, TINY, report=lambda done, total: steps.append((done, total)))
    logits = fitted.logits(fitted.vectors([wish.text for wish in WISHES]))
    right = logits.argmax(axis=1) == [label_of(wish, names) for wish in WISHES]

    assert steps[-1] == (90, 90)
    assert right.mean() > 0.9
    assert 0.5 <= sharpness_of(logits, WISHES, names) <= 3.0
    unseen = fitted.prob(fitted.vectors(["a table please", "no table please"]))
    tables = names.index("tables")
    assert unseen[0, 1 + 2 * tables] > unseen[0, 2 + 2 * tables]
    assert unseen[1, 2 + 2 * tables] > unseen[1, 1 + 2 * tables]


def test_a_limit_ends_it_early_and_the_same_seed_gives_the_same_weights() -> None:
    few = DecoderOptions(layers=1, rank=2, batch=4, limit=2, named=0.0, paired=0.0)
    one, other = (fit_decoder(WISHES, NAMES, TURNS, few).arrays() for _ in range(2))

    assert one.keys() == other.keys()
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name], err_msg=name)
