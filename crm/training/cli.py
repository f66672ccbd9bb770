"""``python -m crm train``: fit the representation, the embedded CRM, or a classifier on any backbone."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import typer

from crm.data.corpora import LeftOut
from crm.data.pairs import MODERN_ANNOTATIONS, OWN_ANNOTATIONS, Directions, read_annotations
from crm.embedded.concepts import concept_classifier
from crm.embedded.encoder import MAX_WINDOWS, sentence_encoder
from crm.embedded.guard import Guard
from crm.embedded.known import KnownConcepts
from crm.embedded.model import EmbeddedCRM, distinct_answers, save_weights
from crm.embedded.reliability import KindsOfReliability
from crm.embedded.representation import Representation, load_arrays
from crm.embedded.representation import representation as bundled_representation
from crm.embedded.style import style_sheet
from crm.errors import CRMError
from crm.paths import (
    CHECKPOINTS,
    CONCEPTS_FILE,
    CORPORA,
    EMBEDDED_FILE,
    LIMITS_FILE,
    PREFERENCES,
    REPRESENTATION_FILE,
)
from crm.progress import progress_bar
from crm.training.classifier.command import say_left_out, train_classifier

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from crm.protocol import Floats
    from crm.training.encoded import ResponseEncoder

app = typer.Typer(no_args_is_help=True, help="Train judges.")
app.command("classifier")(train_classifier)

_SHARPNESS = 1.0
"""Factor on the networks' margins, which dropout leaves too timid: chosen by the calibration of criteria
lists on unseen instructions."""
_ECHO = 0.6
"""Share kept of the plain similarity of criterion and response: with all of it, a text that repeats the
criterion can come first."""
_COUNTERWEIGHT = 0.2
"""Share of the default direction taken off: chosen so that on unseen instructions criteria for what is
generally preferred, and for the other side, are judged equally well."""
_WIN_RATE_ERROR = (0.3, 0.6, 0.8, 0.7)
"""By how much win rates miss a careful reader's, in log-odds, of counted, known, other and no criteria:
chosen so that intervals hold the reader's in 95 % of the cases (``benchmarks.gold_rankings``)."""
_CLEAR_CASES = 0.93
"""Factor on directions of styles that were fitted to comparisons, which are about clear cases: chosen by the
calibration of criteria lists on unseen instructions, where differences are smaller."""
VERSION = "18"
_HARDLY_NAMED = np.float32(1e-6)
"""Where a wish names nothing, that correlates with nothing."""
_ORDINARY = 256
"""Pairs whose differences are kept to tell criteria at odds."""

PreferencesOption = Annotated[Path, typer.Option(help="Criteria annotations (JSON Lines).")]
FurtherOption = Annotated[Path, typer.Option(help="Further annotations, by default the project's own.")]
ModernOption = Annotated[Path, typer.Option(help="Annotations of current LLMs.")]
EmbeddedOption = Annotated[
    Path | None, typer.Option(help="File in which embedded passages are kept for the next training.")
]
EncodedOption = Annotated[
    Path | None, typer.Option(help="File in which encoded responses are kept for the next training.")
]
CorporaOption = Annotated[Path, typer.Option(help="The corpora with the annotated responses.")]

InstructionsOption = Annotated[int, typer.Option(min=1, help="Instructions drawn for the default ranking ∅.")]
PromptsOption = Annotated[
    int, typer.Option(min=1, help="Prompts of each source of current LLMs drawn for it.")
]


@app.command("representation")
def train_representation(
    out: Annotated[Path, typer.Option(help="Where the fitted arrays go.")] = CHECKPOINTS
    / REPRESENTATION_FILE.name,
    preferences: PreferencesOption = PREFERENCES,
    further: FurtherOption = OWN_ANNOTATIONS,
    corpora: CorporaOption = CORPORA,
    windows: Annotated[
        int, typer.Option(min=0, help="Windows of 256 tokens that are read of a response; 0 for all.")
    ] = MAX_WINDOWS,
) -> None:
    """Fit the representation; all stored representations must be computed again after it."""
    from crm.embedded.representation import relevance_features  # noqa: PLC0415
    from crm.training.embedded import fit_representation  # noqa: PLC0415
    from crm.training.tones import read_tone_contrasts  # noqa: PLC0415

    left_out = LeftOut()
    pairs = [item.pair for item, _ in _split("train", (preferences, further), corpora, left_out)]
    say_left_out(left_out, len(pairs), corpora)
    _make_folder_of(out)
    answers, _ = distinct_answers(pairs)
    texts = [text for text, _ in answers]
    with progress_bar("responses") as on_progress:
        encoded = sentence_encoder().encode(
            texts, bulk=True, max_windows=windows or None, progress=on_progress
        )
    related = relevance_features(texts, [query for _, query in answers], encoded.embedding)
    fitted = replace(
        fit_representation(
            *(encoded.state, style_sheet().count(texts), related, read_tone_contrasts()),
            bundled_representation(),
        ),
        max_windows=windows or None,
    )
    fitted.save(out)
    typer.echo(f"{len(texts)} responses, {fitted.size} features, digest {fitted.digest[:12]}: {out}")


@app.command("concepts")
def train_concepts(
    out: Annotated[Path, typer.Option(help="Where the classifier goes.")] = CHECKPOINTS / CONCEPTS_FILE.name,
    seed: Annotated[int, typer.Option(help="Of every random choice.")] = 0,
    apart: Annotated[
        float, typer.Option(min=0.01, max=0.5, help="Share of the wishes kept apart to calibrate on.")
    ] = 0.06,
) -> None:
    """Fit the classifier that reads wishes; the embedded CRM must be trained again after it."""
    from crm.embedded.concepts import ConceptClassifier  # noqa: PLC0415
    from crm.training.concepts import (  # noqa: PLC0415
        NETWORKS,
        calibrated,
        concept_names,
        fit_network,
        read_concept_names,
        read_concept_wishes,
        read_turns,
        share_read_right,
        spelling_of,
        split_wishes,
    )

    _make_folder_of(out)
    kept, used = split_wishes(read_concept_wishes(), apart, seed)
    concepts, named, turns = concept_names(used), read_concept_names(), read_turns()
    networks = []
    for number, options in enumerate(NETWORKS, start=1):
        with progress_bar(f"steps of network {number} of {len(NETWORKS)}") as on_progress:
            fitted = fit_network(used, named, turns, replace(options, seed=seed + options.seed), on_progress)
        networks.append(calibrated(fitted, kept, concepts))
    classifier = ConceptClassifier(concepts, networks, spelling_of(used))
    right = share_read_right(classifier, kept)
    np.savez_compressed(out, **classifier.arrays())  # type: ignore[arg-type]
    typer.echo(
        f"{len(used)} wishes of {len(concepts)} concepts; of {len(kept)} others {right:.1%} are "
        f"read as meant, concept and direction; {out.stat().st_size / 1e6:.1f} MB: {out}"
    )


@app.command("decoder")
def train_decoder(
    concepts: Annotated[Path, typer.Option(help="The classifier that it joins.")] = CONCEPTS_FILE,
    out: Annotated[Path, typer.Option(help="Where both go.")] = CHECKPOINTS / CONCEPTS_FILE.name,
    device: Annotated[
        str, typer.Option(help="cuda, or cpu: an hour an epoch on two cores.", show_default="cuda if there")
    ] = "",
    epochs: Annotated[int, typer.Option(min=1, help="How often every wish is seen.")] = 3,
    limit: Annotated[int | None, typer.Option(min=1, help="Stop after so many steps.")] = None,
    seed: Annotated[int, typer.Option(help="Of every random choice.")] = 0,
    apart: Annotated[
        float, typer.Option(min=0.001, max=0.5, help="Share of the wishes kept apart to calibrate on.")
    ] = 0.02,
) -> None:
    """Fit the language model that reads wishes, beside the classifier's networks; train the embedded CRM
    again after it."""
    import torch  # noqa: PLC0415

    from crm.embedded.concepts import ConceptClassifier  # noqa: PLC0415
    from crm.training.concepts import (  # noqa: PLC0415
        read_concept_names,
        read_concept_wishes,
        read_turns,
        share_read_right,
        sharpness_of,
        split_wishes,
    )
    from crm.training.wish_decoder import DecoderOptions, fit_decoder  # noqa: PLC0415

    _make_folder_of(out)
    joined = ConceptClassifier.load(concepts)
    kept, used = split_wishes(read_concept_wishes(), apart, seed)
    options = DecoderOptions(epochs=epochs, limit=limit, seed=seed)
    on = device or ("cuda" if torch.cuda.is_available() else "cpu")
    with progress_bar("steps") as on_progress:
        fitted = fit_decoder(used, read_concept_names(), read_turns(), options, device=on, report=on_progress)
    vectors = fitted.vectors([wish.text for wish in kept])
    fitted = fitted.sharpened(sharpness_of(fitted.logits(vectors, bulk=True), kept, joined.names))
    joined = ConceptClassifier(joined.names, joined.networks, joined.spelling, fitted)
    np.savez_compressed(out, **joined.arrays())  # type: ignore[arg-type]
    typer.echo(
        f"{len(used)} wishes; of {len(kept)} others {share_read_right(joined, kept):.1%} are read as meant, "
        f"concept and direction; {out.stat().st_size / 1e6:.1f} MB: {out}"
    )


@app.command("readings")
def train_readings(
    concepts: Annotated[Path, typer.Option(help="The classifier, with its language model.")] = CONCEPTS_FILE,
    weights: Annotated[Path, typer.Option(help="Weights that say which concepts are alike.")] = EMBEDDED_FILE,
    out: Annotated[Path, typer.Option(help="Where the classifier goes.")] = CHECKPOINTS / CONCEPTS_FILE.name,
    seed: Annotated[int, typer.Option(help="Of every random choice.")] = 0,
    apart: Annotated[
        float, typer.Option(min=0.001, max=0.5, help="Share of the wishes kept apart to measure on.")
    ] = 0.06,
) -> None:
    """Fit what reads several concepts off a wish, weighed as careful readers weigh them; after “decoder”."""
    from crm.embedded.concepts import ConceptClassifier  # noqa: PLC0415
    from crm.training.mixtures import (  # noqa: PLC0415
        MixtureOptions,
        ReadWishes,
        agreement,
        fit_mixtures,
        likeness_of,
        plain_wishes,
        read_weighed_wishes,
    )

    _make_folder_of(out)
    classifier = ConceptClassifier.load(concepts)
    likeness = likeness_of(EmbeddedCRM.load(weights).concept_margins())
    weighed = [*read_weighed_wishes(), *plain_wishes()]
    order = np.random.default_rng(seed).permutation(len(weighed)).tolist()
    n_apart = round(apart * len(weighed))
    kept, used = ([weighed[row] for row in rows] for rows in (order[:n_apart], order[n_apart:]))
    heard, of_kept = (ReadWishes.of(classifier, each) for each in (used, kept))
    fitted = fit_mixtures(heard, used, classifier.names, likeness, MixtureOptions(seed=seed))
    found = fitted.read(of_kept.vectors, of_kept.named)[:, : len(classifier.names)]
    agreed, before = (
        float(np.nanmean(agreement(each, kept, classifier.names, likeness)))
        for each in (found, of_kept.named + _HARDLY_NAMED)
    )
    whole = ConceptClassifier(
        classifier.names, classifier.networks, classifier.spelling, classifier.decoder, fitted
    )
    np.savez_compressed(out, **whole.arrays())  # type: ignore[arg-type]
    typer.echo(
        f"{len(used)} weighed wishes; on ordinary pairs the mixtures of {n_apart} others correlate with "
        f"their readers' at {agreed:.2f}, what is named in them at {before:.2f}; "
        f"{out.stat().st_size / 1e6:.1f} MB: {out}"
    )


@app.command("limits")
def train_limits(
    out: Annotated[Path, typer.Option(help="Where the model goes.")] = CHECKPOINTS / LIMITS_FILE.name,
    seed: Annotated[int, typer.Option(help="Of which wishes are kept apart.")] = 0,
    apart: Annotated[
        float, typer.Option(min=0.001, max=0.5, help="Share of the wishes kept apart to measure on.")
    ] = 0.1,
) -> None:
    """Fit what tells which numbers in a wish are limits; seconds. Takes effect when it lies at its place."""
    from crm.training.concepts import read_concept_wishes, split_wishes  # noqa: PLC0415
    from crm.training.limits import fit_limits, limits_among, read_limit_wishes, share_read_right  # noqa: PLC0415

    _make_folder_of(out)
    wishes, further = read_limit_wishes(), limits_among(read_concept_wishes())
    kept, used = split_wishes(wishes, apart, seed)
    right = share_read_right(fit_limits([*used, *further]), kept)
    np.savez_compressed(out, **fit_limits([*wishes, *further]).arrays())  # type: ignore[arg-type]
    typer.echo(
        f"{len(wishes) + len(further)} wishes; of {len(kept)} of them {right:.1%} were read right by a model "
        f"fitted without: {out}"
    )


@app.command("embedded")
def train_embedded(
    out: Annotated[Path, typer.Option(help="Where the weights go.")] = CHECKPOINTS / EMBEDDED_FILE.name,
    representation: Annotated[Path, typer.Option(help="The fitted representation.")] = REPRESENTATION_FILE,
    preferences: PreferencesOption = PREFERENCES,
    further: FurtherOption = OWN_ANNOTATIONS,
    modern: ModernOption = MODERN_ANNOTATIONS,
    corpora: CorporaOption = CORPORA,
    seed: Annotated[int, typer.Option(help="Of every random choice.")] = 0,
    members: Annotated[int, typer.Option(min=1, help="Networks in the ensemble.")] = 5,
    share: Annotated[
        float, typer.Option(min=0.01, max=1.0, help="Share of the annotated pairs to train on.")
    ] = 1.0,
    attacks: Annotated[int, typer.Option(min=100, help="Gaming responses to guard against.")] = 4500,
    general_instructions: InstructionsOption = 300,
    general_prompts: PromptsOption = 60,
    without_held_out_criteria: Annotated[
        bool, typer.Option(help="Leave out the criteria by which generalisation is measured.")
    ] = False,
    encoded: EncodedOption = None,
    guard_of: Annotated[
        Path | None, typer.Option(help="Weights whose guard is taken over instead of fitting one.")
    ] = None,
    general_of: Annotated[
        Path | None, typer.Option(help="Weights whose default ranking ∅ is taken over likewise.")
    ] = None,
    version: Annotated[str, typer.Option(help="Version written into the weights.")] = VERSION,
) -> None:
    """Fit the embedded CRM on the train split; the same seed gives the same weights."""
    from crm.embedded.validity import ValidityCheck  # noqa: PLC0415
    from crm.training.comparisons import read_comparisons  # noqa: PLC0415
    from crm.training.concepts import read_concept_wishes  # noqa: PLC0415
    from crm.training.embedded import (  # noqa: PLC0415
        NetworkOptions,
        concept_directions,
        fit_members,
        right_by_kind,
        training_set,
        wording_set,
    )
    from crm.training.encoded import ResponseEncoder  # noqa: PLC0415
    from crm.training.general import check_general_data  # noqa: PLC0415
    from crm.training.safeguards import fit_scope_classifier  # noqa: PLC0415
    from crm.training.tones import (  # noqa: PLC0415
        STYLE_PAIRS,
        read_tone_contrasts,
        style_pairs,
        tone_pairs,
        unusual_answers,
    )

    started = time.monotonic()
    fitted = Representation.load(representation)
    general = None if general_of is None else _general_of(general_of, fitted)
    if general is None:
        check_general_data(corpora)
    _make_folder_of(out)
    encode = ResponseEncoder(fitted, encoded)
    concepts = concept_classifier()
    left_out = LeftOut()
    of_today = _split("train", (modern,), corpora, left_out)
    annotated = [*_split("train", (preferences, further), corpora, left_out), *of_today]
    say_left_out(left_out, len(annotated), corpora)
    if share < 1.0:
        drawn = np.random.default_rng(seed).permutation(len(annotated))[: round(share * len(annotated))]
        annotated = [annotated[index] for index in sorted(drawn.tolist())]
    tones = read_tone_contrasts()
    toned = [*tone_pairs(tones, seed), *style_pairs(unusual_answers(), tones, STYLE_PAIRS, seed)]
    if without_held_out_criteria:
        annotated, toned = _generalising(annotated), _generalising(toned)
    wishes = read_concept_wishes()
    compared = (
        [] if without_held_out_criteria else read_comparisons(corpora, wishes, seed=seed, left_out=LeftOut())
    )
    pairs = [*annotated, *toned, *compared]
    with progress_bar("responses") as on_progress:
        data = training_set(pairs, encode, concepts, on_progress)
    guard = _guard_of(guard_of) if guard_of else _fitted_guard(annotated, attacks, seed, encode)
    if general is None:
        general = _fitted_general(modern, corpora, encode, (general_instructions, general_prompts, seed))
    wordings = wording_set(wishes, concepts)
    with progress_bar("networks") as on_progress:
        trained, styles = fit_members(
            data,
            wordings,
            encode.features,
            NetworkOptions(members=members, seed=seed),
            report=lambda member, _: on_progress(member, members),
        )
    fair = [criterion.text for directions in annotated for item in directions for criterion in item.criteria]
    ordinary = np.random.default_rng(seed).permutation(len(annotated))[:_ORDINARY]
    validity = ValidityCheck(
        fit_scope_classifier((list(dict.fromkeys(fair)), *_worded()), seed),
        data.difference[ordinary],
        np.moveaxis(data.counts[ordinary], 1, 0).astype(np.float32),
    )
    scaled = [member.scaled(_SHARPNESS, _ECHO) for member in trained]
    directions = concept_directions(scaled, styles * np.float32(_SHARPNESS), wordings)
    with progress_bar("responses of unseen instructions") as on_progress:
        unseen = _split("dev", (preferences, modern), corpora, LeftOut())
        found = training_set(unseen, encode, concepts, on_progress)
    right = right_by_kind(found, found.margins(scaled, directions))
    save_weights(
        *(out, scaled, general, encode.features, version),
        counterweight=_COUNTERWEIGHT,
        guard=guard,
        validity=validity,
        concepts=KnownConcepts(lambda: concepts, data.gains, directions),
        measured=KindsOfReliability(right, np.array(_WIN_RATE_ERROR, dtype=np.float32)),
    )
    typer.echo(
        f"{len(pairs)} pairs, {len(data.criterion)} judged criteria, {members} networks, "
        f"{time.monotonic() - started:.0f} s, {out.stat().st_size / 1e6:.1f} MB: {out}"
    )


@app.command("axes")
def train_axes(
    weights: Annotated[Path, typer.Option(help="Weights where fitting starts.")] = EMBEDDED_FILE,
    representation: Annotated[
        Path, typer.Option(help="The representation that they read.")
    ] = REPRESENTATION_FILE,
    out: Annotated[Path, typer.Option(help="Where the representation with new axes goes.")] = CHECKPOINTS
    / REPRESENTATION_FILE.name,
    out_weights: Annotated[
        Path, typer.Option(help="Where the weights go, in which nothing goes by the axes yet.")
    ] = CHECKPOINTS / EMBEDDED_FILE.name,
    corpora: CorporaOption = CORPORA,
    epochs: Annotated[int, typer.Option(min=1, help="How often every pair is seen.")] = 10,
    seed: Annotated[int, typer.Option(help="Of every random choice.")] = 0,
    encoded: EncodedOption = None,
) -> None:
    """Fit what hears the manner of a response to comparisons; train styles after it, and compute all stored
    representations again."""
    from crm.training.comparisons import read_style_comparisons  # noqa: PLC0415
    from crm.training.encoded import ResponseEncoder  # noqa: PLC0415
    from crm.training.token_axes import (  # noqa: PLC0415
        HeardVerdicts,
        TokenAxesOptions,
        TokenStates,
        fit_token_axes,
        without_axes,
    )

    _make_folder_of(out)
    _make_folder_of(out_weights)
    encode = ResponseEncoder(Representation.load(representation), encoded)
    before = encode.features
    arrays, concepts = _arrays_of(weights, before), concept_classifier()
    styles, left_out = concepts.names[concepts.countable :], LeftOut()
    pairs, said = read_style_comparisons(corpora, styles, left_out=left_out)
    say_left_out(left_out, len(pairs), corpora)
    answers, rows = distinct_answers(pairs)
    with progress_bar("responses") as on_progress:
        features = encode(answers, on_progress)[0]
    with progress_bar("their tokens") as on_progress:
        states = TokenStates.of([text for text, _ in answers], before.max_windows, on_progress)
    data = HeardVerdicts(states, features[:, : before.manner.start], rows, said)
    start = arrays["concept_directions"].astype(np.float32)[:, : before.manner.start]
    with progress_bar("steps") as on_progress:
        axes = fit_token_axes(start, data, TokenAxesOptions(epochs=epochs, seed=seed), on_progress)
    fitted = replace(before, token_axes=axes)
    fitted.save(out)
    _save_with(arrays, without_axes(arrays, before, fitted), out_weights)
    typer.echo(
        f"{np.count_nonzero(said):,} comparisons of {len(pairs):,} pairs, {axes.size} axes, digest "
        f"{fitted.digest[:12]}: {out}; weights for “crm train styles”: {out_weights}"
    )


@app.command("styles")
def train_styles(
    weights: Annotated[Path, typer.Option(help="Weights of an embedded CRM.")] = EMBEDDED_FILE,
    out: Annotated[Path, typer.Option(help="Where the weights with new directions go.")] = CHECKPOINTS
    / EMBEDDED_FILE.name,
    representation: Annotated[Path, typer.Option(help="The fitted representation.")] = REPRESENTATION_FILE,
    preferences: PreferencesOption = PREFERENCES,
    corpora: CorporaOption = CORPORA,
    attacks: Annotated[int, typer.Option(min=100, help="Gaming responses whose gain is held.")] = 600,
    seed: Annotated[int, typer.Option(help="Of every random choice.")] = 0,
    encoded: EncodedOption = None,
    version: Annotated[str, typer.Option(help="Version written into the weights.")] = VERSION,
) -> None:
    """Fit the directions of known styles to comparisons: which of two responses has more of each."""
    from crm.training.adversarial import gaming_answers, ordinary_answers  # noqa: PLC0415
    from crm.training.comparisons import read_style_comparisons  # noqa: PLC0415
    from crm.training.embedded import encoded_pairs  # noqa: PLC0415
    from crm.training.encoded import ResponseEncoder  # noqa: PLC0415
    from crm.training.styles import StyleComparisons, StyleOptions, fit_styles, widening  # noqa: PLC0415

    _make_folder_of(out)
    encode = ResponseEncoder(Representation.load(representation), encoded)
    arrays, concepts = _arrays_of(weights, encode.features), concept_classifier()
    styles, left_out = concepts.names[concepts.countable :], LeftOut()
    trained, unseen = (
        read_style_comparisons(corpora, styles, split=split, left_out=left_out) for split in ("train", "dev")
    )
    say_left_out(left_out, min(len(trained[0]), len(unseen[0])), corpora)
    annotated = _split("train", (preferences,), corpora, LeftOut())
    with progress_bar("responses") as on_progress:
        # Those that follow are answers to other queries: their styles are real.
        gaming, _ = encode(gaming_answers(annotated, attacks, seed)[:attacks], on_progress)
        ordinary, _ = encode(ordinary_answers(annotated, attacks, seed), on_progress)
        seen, kept = (
            StyleComparisons(encoded_pairs(pairs, encode, on_progress)[0], said)
            for pairs, said in (trained, unseen)
        )
    before = arrays["concept_directions"].astype(np.float32)
    with progress_bar("fits") as on_progress:
        held = replace(seen, attacks=gaming - ordinary.mean(axis=0))
        directions = fit_styles(before, held, StyleOptions(seed=seed), on_progress) * np.float32(_CLEAR_CASES)
    wider = np.float32(widening(directions, before, seen.difference))
    changed: dict[str, NDArray[Any]] = {
        "concept_directions": directions.astype(np.float16),
        "concept_gains": arrays["concept_gains"] * wider,
        "version": np.array(version),
    }
    _save_with(arrays, changed, out)
    typer.echo(
        f"{np.count_nonzero(seen.said):,} comparisons of {len(seen.said):,} pairs; of "
        f"{np.count_nonzero(kept.said):,} on unseen instructions {kept.right(directions):.3f} are right, "
        f"before {kept.right(before):.3f}: {out}"
    )


@app.command("scope")
def train_scope(
    weights: Annotated[Path, typer.Option(help="Weights of an embedded CRM.")] = EMBEDDED_FILE,
    out: Annotated[Path, typer.Option(help="Where the weights with the new classifier go.")] = CHECKPOINTS
    / EMBEDDED_FILE.name,
    preferences: PreferencesOption = PREFERENCES,
    further: FurtherOption = OWN_ANNOTATIONS,
    modern: ModernOption = MODERN_ANNOTATIONS,
    seed: Annotated[int, typer.Option(help="Of every random choice.")] = 0,
) -> None:
    """Fit anew what tells criteria that cannot be judged; needs no responses."""
    from crm.data.clustering import read_criteria_lists  # noqa: PLC0415
    from crm.training.safeguards import fit_scope_classifier  # noqa: PLC0415

    _make_folder_of(out)
    arrays = load_arrays(weights, "general")
    lists = [each for file in (preferences, further, modern) for each in read_criteria_lists(file, "train")]
    fair = list(dict.fromkeys(text for each in lists for text in each))
    scope = fit_scope_classifier((fair, *_worded()), seed)
    _save_with(arrays, scope.arrays(), out)
    flagged = sum(reason is not None for reason in scope.reasons(fair[:1000]))
    typer.echo(f"{len(fair):,} fair criteria, of the first 1,000 {flagged} are flagged: {out}")


def _worded() -> tuple[list[str], list[str]]:
    """Return English wishes for known concepts, and wishes for something particular, in their words."""
    from crm.training.concepts import PARTICULAR, read_concept_wishes  # noqa: PLC0415

    wishes = read_concept_wishes()
    known = [wish.text for wish in wishes if wish.concept is not None and not wish.foreign]
    return known, [wish.text for wish in wishes if wish.source == PARTICULAR]


@app.command("reliability")
def train_reliability(
    weights: Annotated[Path, typer.Option(help="Weights of an embedded CRM.")] = EMBEDDED_FILE,
    out: Annotated[Path, typer.Option(help="Where the weights that foretell reliability go.")] = CHECKPOINTS
    / EMBEDDED_FILE.name,
    preferences: PreferencesOption = PREFERENCES,
    modern: ModernOption = MODERN_ANNOTATIONS,
    corpora: CorporaOption = CORPORA,
    version: Annotated[str, typer.Option(help="Version written into the weights.")] = VERSION,
) -> None:
    """Fit what foretells how often verdicts under a criterion are right, on instructions that are no others'.

    The judge that reads the pairs must not have been trained on them.
    """
    from crm.embedded.model import EmbeddedCRM  # noqa: PLC0415
    from crm.training.mixtures import read_weighed_wishes  # noqa: PLC0415
    from crm.training.reliability import (  # noqa: PLC0415
        MEANT,
        fit_meant,
        fit_reliability,
        found_meant,
        found_reliability,
        of_kinds,
        read_as_meant,
        single_verdicts,
    )

    _make_folder_of(out)
    left_out = LeftOut()
    pairs = _split("dev", (preferences, modern), corpora, left_out)
    say_left_out(left_out, len(pairs), corpora)
    judge, arrays = EmbeddedCRM.load(weights), load_arrays(weights)
    with progress_bar("verdicts on unseen instructions") as on_progress:
        verdicts = single_verdicts(judge, pairs, on_progress)
    found = found_reliability(verdicts)
    read = read_as_meant(judge, read_weighed_wishes(MEANT))
    measured = KindsOfReliability(
        of_kinds(verdicts),
        np.array(_WIN_RATE_ERROR, dtype=np.float32),
        fit_reliability(verdicts),
        fit_meant(read),
    )
    usually = float(measured.as_meant(verdicts.seen).mean())
    measured = replace(measured, usually_meant=usually)
    _save_with(arrays, {**measured.arrays(), "version": np.array(version)}, out)
    parts = "; ".join(f"{mean:.2f} were {right.mean():.2f}" for mean, right in found.by_parts(verdicts.right))
    typer.echo(
        f"{len(verdicts.right):,} verdicts, {verdicts.right.mean():.3f} right. By the other queries, fifths "
        f"foretold {parts}; area under the curve {found.area:.3f}, loss {found.loss:.3f} instead of "
        f"{found.loss_of_mean:.3f}: {out}"
    )
    foretold = found_meant(read)
    least = foretold < np.quantile(foretold, 0.25)
    typer.echo(
        f"{len(foretold)} weighed wishes, {read.as_meant.mean():.3f} read the right way round; of the "
        f"quarter that is foretold least, {foretold[least].mean():.3f}, {read.as_meant[least].mean():.3f}. "
        f"Of annotators' criteria {usually:.3f} are foretold to be."
    )


@app.command("general")
def train_general(
    weights: Annotated[Path, typer.Option(help="Weights of an embedded CRM.")] = EMBEDDED_FILE,
    out: Annotated[
        Path, typer.Option(help="Where the weights with the new default ranking go.")
    ] = CHECKPOINTS / EMBEDDED_FILE.name,
    representation: Annotated[Path, typer.Option(help="The fitted representation.")] = REPRESENTATION_FILE,
    modern: ModernOption = MODERN_ANNOTATIONS,
    corpora: CorporaOption = CORPORA,
    instructions: InstructionsOption = 300,
    prompts: PromptsOption = 60,
    seed: Annotated[int, typer.Option(help="Of every random choice.")] = 0,
    encoded: EncodedOption = None,
    version: Annotated[str, typer.Option(help="Version written into the weights.")] = VERSION,
) -> None:
    """Fit the default ranking ∅ anew: what people in general prefer."""
    from crm.training.embedded import encoded_pairs  # noqa: PLC0415
    from crm.training.encoded import ResponseEncoder  # noqa: PLC0415
    from crm.training.general import (  # noqa: PLC0415
        Verdicts,
        check_general_data,
        read_typical_verdicts,
    )

    check_general_data(corpora)
    _make_folder_of(out)
    encode = ResponseEncoder(Representation.load(representation), encoded)
    arrays = _arrays_of(weights, encode.features)
    before = arrays["general"].astype(np.float32)
    general = _fitted_general(modern, corpora, encode, (instructions, prompts, seed))
    # As much of it is taken off every criterion's direction as before.
    shorter = float(np.linalg.norm(before)) / max(float(np.linalg.norm(general)), 1e-9)
    counterweight = float(arrays.get("counterweight", 0.0)) * shorter
    changed = {"general": general, "counterweight": np.array(counterweight), "version": np.array(version)}
    _save_with(arrays, changed, out)
    pairs, prob = read_typical_verdicts(modern, corpora, "dev", LeftOut())
    with progress_bar("responses of unseen instructions") as on_progress:
        unseen = Verdicts(encoded_pairs(pairs, encode, on_progress)[0], prob)
    typer.echo(
        f"Of {unseen.decided} verdicts on unseen instructions of what a typical person prefers "
        f"{unseen.right(general):.3f} are right, before {unseen.right(before):.3f}: {out}"
    )


@app.command("passages")
def train_passages(
    representation: Annotated[Path, typer.Option(help="The representation without.")] = REPRESENTATION_FILE,
    out: Annotated[Path, typer.Option(help="Where the representation goes.")] = CHECKPOINTS
    / REPRESENTATION_FILE.name,
    preferences: PreferencesOption = PREFERENCES,
    further: FurtherOption = OWN_ANNOTATIONS,
    modern: ModernOption = MODERN_ANNOTATIONS,
    corpora: CorporaOption = CORPORA,
    seed: Annotated[int, typer.Option(help="Of every random choice.")] = 0,
    embedded: EmbeddedOption = None,
) -> None:
    """Fit how passages are stored; all stored representations must be computed again after it."""
    from crm.training.passages import PassageData, PassageEmbeddings, PassageOptions, fit_space  # noqa: PLC0415

    left_out = LeftOut()
    annotated = _split("train", (preferences, further, modern), corpora, left_out)
    say_left_out(left_out, len(annotated), corpora)
    _make_folder_of(out)
    with progress_bar("passages") as on_progress:
        data = PassageData.of(annotated, PassageEmbeddings(embedded), on_progress)
    with progress_bar("steps") as on_progress:
        space = fit_space(data, PassageOptions(seed=seed), on_progress)
    fitted = replace(Representation.load(representation), passages=space)
    fitted.save(out)
    typer.echo(
        f"{len(annotated)} pairs, {len(data.sign)} judged criteria, {len(data.embedding)} passages, "
        f"digest {fitted.digest[:12]}: {out}"
    )


@app.command("mixture")
def train_mixture(
    weights: Annotated[Path, typer.Option(help="Weights of an embedded CRM.")] = EMBEDDED_FILE,
    out: Annotated[Path, typer.Option(help="Where the weights with passages go.")] = CHECKPOINTS
    / EMBEDDED_FILE.name,
    representation: Annotated[Path, typer.Option(help="The fitted representation.")] = REPRESENTATION_FILE,
    preferences: PreferencesOption = PREFERENCES,
    modern: ModernOption = MODERN_ANNOTATIONS,
    corpora: CorporaOption = CORPORA,
    embedded: EmbeddedOption = None,
    encoded: EncodedOption = None,
    version: Annotated[str, typer.Option(help="Version written into the weights.")] = VERSION,
) -> None:
    """Mix an embedded CRM with what passages say, on pairs of current LLMs that neither has seen."""
    from crm.embedded.model import members_of  # noqa: PLC0415
    from crm.training.embedded import right_by_kind, training_set  # noqa: PLC0415
    from crm.training.encoded import ResponseEncoder  # noqa: PLC0415
    from crm.training.passages import (  # noqa: PLC0415
        PassageData,
        PassageEmbeddings,
        mixed,
        weights_with,
    )

    _make_folder_of(out)
    concepts, arrays = concept_classifier(), load_arrays(weights)
    members, styles = members_of(arrays), arrays["concept_directions"].astype(np.float32)
    embed, encode = PassageEmbeddings(embedded), ResponseEncoder(Representation.load(representation), encoded)
    parts, unseen = [], []
    with progress_bar("responses and passages of unseen instructions") as on_progress:
        for file in (modern, preferences):
            pairs = _split("dev", (file,), corpora, LeftOut())
            data, in_passages = (
                training_set(pairs, encode, concepts),
                PassageData.of(pairs, embed, on_progress),
            )
            likeness = in_passages.likeness(encode.features.passages) * data.unread[:, None]
            parts.append((data.margins_read(styles), data.margins_unread(members), likeness))
            unseen.append(data)
    share, of_passages = mixed(*parts[0], unseen[0].sign)
    right = [
        right_by_kind(data, np.asarray(read + share * by_members + likeness @ of_passages, np.float32))
        for data, (read, by_members, likeness) in zip(unseen, parts, strict=True)
    ]
    measured = KindsOfReliability(np.mean(right, axis=0), np.array(_WIN_RATE_ERROR, dtype=np.float32))
    joined = weights_with(arrays, share, of_passages) | measured.arrays()
    joined |= {
        "version": np.array(version),
        "representation": np.array(encode.features.name),
        "representation_digest": np.array(encode.features.digest),
    }
    np.savez_compressed(out, **joined)  # type: ignore[arg-type]
    typer.echo(
        f"Members count {share:.2f} of what they did beside passages; right by kind "
        f"{right[0].round(3).tolist()} on current LLMs, {right[1].round(3).tolist()} on older: {out}"
    )


def _guard_of(weights: Path) -> Guard | None:
    return Guard.from_arrays(load_arrays(weights))


def _fitted_guard(annotated: list[Directions], attacks: int, seed: int, encode: ResponseEncoder) -> Guard:
    from crm.training.adversarial import gaming_answers, ordinary_answers  # noqa: PLC0415
    from crm.training.safeguards import fit_guard, seen_columns  # noqa: PLC0415

    with progress_bar("attacks") as on_progress:
        gaming, _ = encode(gaming_answers(annotated, attacks, seed), on_progress)
        ordinary, _ = encode(ordinary_answers(annotated, attacks, seed), on_progress)
        return fit_guard(gaming, ordinary, seen_columns(encode.features))


def _fitted_general(
    modern: Path, corpora: Path, encode: ResponseEncoder, drawn: tuple[int, int, int]
) -> Floats:
    """Fit the direction of the default ranking, on as many instructions and prompts a source, by a seed."""
    from crm.training.embedded import encoded_pairs  # noqa: PLC0415
    from crm.training.general import (  # noqa: PLC0415
        Verdicts,
        fit_general,
        general_data,
        general_llms,
        read_general_pairs,
        read_human_ratings,
        read_rated_responses,
        read_typical_verdicts,
    )

    instructions, prompts, seed = drawn
    judged = read_general_pairs(corpora, instructions, seed)
    typical, prob = read_typical_verdicts(modern, corpora, "train", LeftOut())
    with progress_bar("responses for ∅") as on_progress:
        difference, _ = encoded_pairs([item.pair for item in judged], encode, on_progress)
        of_people, _ = encoded_pairs(typical, encode, on_progress)
        rated = read_rated_responses(corpora, prompts, seed)
        duels = rated.duels(encode(rated.answers, on_progress)[0])
    ratings = read_human_ratings(corpora, general_llms(judged))
    return fit_general(general_data(judged, difference, ratings, Verdicts(of_people, prob), duels))


def _general_of(weights: Path, fitted: Representation) -> Floats:
    """Return other weights' direction of the default ranking. Raises CRMError: Theirs are other features."""
    general: Floats = _arrays_of(weights, fitted)["general"].astype(np.float32)
    return general


def _arrays_of(weights: Path, fitted: Representation) -> Mapping[str, NDArray[Any]]:
    """Return the arrays of weights on a representation. Raises CRMError: They read other features."""
    arrays = load_arrays(weights, "general", "representation_digest")
    if str(arrays["representation_digest"]) != fitted.digest:
        raise CRMError(
            f"{weights.name} reads another representation than is trained on, so nothing of it can be taken "
            "over: name weights of the same one."
        )
    return arrays


def _save_with(arrays: Mapping[str, NDArray[Any]], changed: Mapping[str, NDArray[Any]], out: Path) -> None:
    """Write the arrays of weights to another file, with some of them changed."""
    np.savez_compressed(out, **{**arrays, **changed})  # type: ignore[arg-type]


def _make_folder_of(out: Path) -> None:
    """Make the folder of a result before the training, which may take long. Raises CRMError: It cannot be."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CRMError(f"{out} cannot be written ({error.strerror}): choose another --out.") from error


def _split(
    split: Literal["train", "dev"], files: tuple[Path, ...], corpora: Path, left_out: LeftOut
) -> list[Directions]:
    return [item for file in files for item in read_annotations(file, corpora, split, left_out)]


def _generalising(pairs: list[Directions]) -> list[Directions]:
    """Return the pairs without the criteria by which generalisation to new criteria is measured."""
    from crm.data.taxonomy import held_out_criteria  # noqa: PLC0415

    texts = {
        criterion.text
        for directions in pairs
        for item in directions
        for criterion in (*item.criteria, *item.extra)
    }
    withheld = held_out_criteria(sorted(texts))
    left = ((one.without_criteria(withheld), other.without_criteria(withheld)) for one, other in pairs)
    return [both for both in left if any((*item.criteria, *item.extra) for item in both)]
