from crm.embedded.surface import N_BUCKETS, N_TURNS, N_TURNS_OF_LESS, turns, word_hashes


def test_turns_of_less_and_more_are_told() -> None:
    found = turns(["no tables", "tables", "I can’t stand tables", "lots of tables"]) > 0

    assert found.shape == (4, N_TURNS)
    assert found[:, :N_TURNS_OF_LESS].any(axis=1).tolist() == [True, False, True, False]
    assert found.any(axis=1).tolist() == [True, False, True, True]
    assert turns([]).shape == (0, N_TURNS)


def test_case_accents_and_repetition_make_no_difference() -> None:
    assert word_hashes("Réponses Brèves") == word_hashes("reponses breves")
    assert word_hashes("don’t") == word_hashes("don't")
    assert len(set(word_hashes("tables tables tables"))) == len(word_hashes("tables tables tables"))


def test_the_order_of_words_matters_and_their_pieces_are_shared() -> None:
    one, other = (set(word_hashes(text)) for text in ("lists not tables", "tables not lists"))
    assert one != other
    assert one & other

    assert set(word_hashes("emojis")) & set(word_hashes("emojies"))
    assert not set(word_hashes("emojis")) & set(word_hashes("kurz"))


def test_punctuation_is_a_word_and_nothing_has_none() -> None:
    assert set(word_hashes("!")) & set(word_hashes("no !"))
    assert word_hashes(" \n") == []
    assert all(0 <= bucket < N_BUCKETS for bucket in word_hashes("as many “quotes” as possible – 😀"))
