"""What people ask for: criteria that mean alike in clusters, and clusters in a dozen themes.

Both were found once for the annotated criteria (`crm.data.clustering`) and are shipped, so that noising,
training, evaluation and the pages need no clustering library. The clusters say which criteria are withheld
from training; the themes are those of the USL paper's Table 6, and those of a person's own preference data
are stored in the database in the same form.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from crm.criteria import normalise
from crm.embedded.encoder import sentence_encoder
from crm.errors import CRMError
from crm.paths import BUNDLED
from crm.protocol import Floats
from parsing.documents import read_json
from parsing.files import read_bytes
from parsing.parquet import open_parquet

CLUSTERS_FILE = BUNDLED / "criterion-clusters-1.parquet"


@dataclass(frozen=True)
class CriterionCluster:
    """Criteria that mean alike.

    Attributes:
        keywords: Its most typical words by c-TF-IDF, the most typical first.
        held_out: Whether its criteria are withheld from training where generalisation is measured.
        criteria: Texts of its criteria, sorted.
    """

    keywords: tuple[str, ...]
    held_out: bool
    criteria: tuple[str, ...]


@dataclass(frozen=True)
class CriterionClusters:
    """All clusters, each known by its position.

    Attributes:
        centroids: Mean embeddings of their criteria, of unit length ``[K, 384]``.
    """

    clusters: tuple[CriterionCluster, ...]
    centroids: Floats

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """Cluster of every known criterion's text: what ``Noiser`` takes."""
        return {text: number for number, item in enumerate(self.clusters) for text in item.criteria}

    @cached_property
    def held_out(self) -> frozenset[str]:
        """Texts of the criteria in held-out clusters."""
        return frozenset(text for item in self.clusters if item.held_out for text in item.criteria)

    def assigned(self, texts: Sequence[str]) -> list[int]:
        """Cluster of criteria; one that is not known belongs where the nearest centroid is."""
        texts = [normalise(text) for text in texts]
        unknown = [text for text in dict.fromkeys(texts) if text not in self.numbers]
        embedded = sentence_encoder().embed(unknown) if unknown else np.empty((0, 1), dtype=np.float32)
        nearest = (embedded @ self.centroids.T).argmax(axis=1) if unknown else []
        found = dict(zip(unknown, map(int, nearest), strict=True))
        return [self.numbers[text] if text in self.numbers else found[text] for text in texts]

    def save(self, path: Path) -> None:
        """Write the clusters as Parquet, one row a cluster."""
        import pyarrow as pa  # noqa: PLC0415
        from pyarrow import parquet  # noqa: PLC0415

        table = pa.table(
            {
                "keywords": [item.keywords for item in self.clusters],
                "held_out": [item.held_out for item in self.clusters],
                "criteria": [item.criteria for item in self.clusters],
                "centroid": pa.array(list(self.centroids.astype(np.float16)), pa.list_(pa.float16())),
            }
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        parquet.write_table(table, path, compression="zstd", compression_level=19)

    @classmethod
    def load(cls, path: Path) -> CriterionClusters:
        """Read clusters that ``save`` wrote. Raises CRMError: The file is absent or damaged."""
        if not path.is_file():
            raise CRMError(f"There is no file {path}: make it with “python -m crm criterion-clusters”.")
        try:
            with open_parquet(path) as table:
                batches = table.batches(table.names, table.n_rows)
                rows = [row for batch in batches for row in batch.to_pylist()]
            clusters = tuple(
                CriterionCluster(tuple(row["keywords"]), row["held_out"], tuple(row["criteria"]))
                for row in rows
            )
            centroids = np.array([row["centroid"] for row in rows], dtype=np.float32)
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise CRMError(
                f"{path} is damaged: make it again with “python -m crm criterion-clusters”."
            ) from error
        return cls(clusters, centroids)


@lru_cache(maxsize=1)
def criterion_clusters() -> CriterionClusters:
    """Return the shipped clusters."""
    return CriterionClusters.load(CLUSTERS_FILE)


def held_out_criteria(others: Iterable[str] = ()) -> frozenset[str]:
    """Return texts of the criteria that training leaves out where criterion generalisation is measured.

    Args:
        others: Criteria of further training data, of which those near held-out clusters are left out too.
    """
    clusters = criterion_clusters()
    further = [normalise(text) for text in others]
    return clusters.held_out | {
        text
        for text, number in zip(further, clusters.assigned(further), strict=True)
        if clusters.clusters[number].held_out
    }


THEMES_FILE = BUNDLED.parent / "criterion-themes.json"
_FORMAT = 1
_NAME_WORDS = 3
_SAME_THEME = 0.5
"""Share of common clusters, among those of either, from which two themes count as the same one."""
_REMAKE_THEMES = "make it again with “python -m precompute cluster-criteria”"


@dataclass(frozen=True)
class ThemeCluster:
    """A cluster of criteria that mean alike, in a theme.

    Attributes:
        keywords: Its most typical words.
        n: Occurrences of its criteria.
    """

    keywords: tuple[str, ...]
    n: int


@dataclass(frozen=True)
class Theme:
    """A broad cluster of criteria.

    Attributes:
        keywords: Its most typical words by c-TF-IDF, the most typical first.
        n: Occurrences of its criteria.
        adjectives: Its most frequent adjectives with their occurrences; none is in two themes.
        examples: Some of its criteria.
        parts: The clusters it consists of, the largest first.
    """

    name: str
    keywords: tuple[str, ...]
    n: int
    adjectives: tuple[tuple[str, int], ...]
    examples: tuple[str, ...]
    parts: tuple[ThemeCluster, ...]

    @property
    def is_named(self) -> bool:
        """Whether somebody has given it a name."""
        return self.name != name_from(self.keywords)


@dataclass(frozen=True)
class CriterionThemes:
    """The themes of some criteria, the largest first.

    Attributes:
        source: Where the criteria come from, in a few words.
        n_lists: Number of lists of criteria.
        n_different: Number of different criteria.
    """

    source: str
    n_lists: int
    n_different: int
    themes: tuple[Theme, ...]

    @cached_property
    def n(self) -> int:
        """Occurrences of all criteria."""
        return sum(theme.n for theme in self.themes)

    def share(self, theme: Theme) -> float:
        """Return the theme's share of all criteria."""
        return theme.n / self.n if self.n else 0.0

    def with_names_of(self, earlier: CriterionThemes) -> CriterionThemes:
        """The same with the names that people gave to earlier themes, where a theme is mostly the same."""
        named = [theme for theme in earlier.themes if theme.is_named]
        return replace(self, themes=tuple(_named_like(theme, named) for theme in self.themes))

    def to_json(self) -> dict[str, Any]:
        """Return the object that ``from_json`` reads."""
        return {"format": _FORMAT, **asdict(self)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> CriterionThemes:
        """Read themes. Raises CRMError: They are none, or of another format."""
        try:
            if value["format"] != _FORMAT:
                raise ValueError
            themes = tuple(_theme(entry) for entry in value["themes"])
            return cls(str(value["source"]), int(value["n_lists"]), int(value["n_different"]), themes)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise CRMError(f"It holds no themes of criteria: {_REMAKE_THEMES}.") from error

    def save(self, path: Path) -> None:
        """Write the themes as JSON, whole or not at all. Raises CRMError: The file cannot be written."""
        partial = path.with_name(f"{path.name}.partial")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            partial.write_text(_laid_out(self.to_json()), encoding="utf-8")
            partial.replace(path)
        except OSError as error:
            raise CRMError(f"{path} cannot be written ({error.strerror}): choose another --out.") from error

    @classmethod
    def load(cls, path: Path) -> CriterionThemes:
        """Read what ``save`` wrote. Raises CRMError: There is none, or it cannot be read."""
        try:
            return cls.from_json(read_json(read_bytes(path)))
        except OSError as error:
            raise CRMError(f"{path} cannot be read ({error.strerror}): {_REMAKE_THEMES}.") from error
        except ValueError as error:
            raise CRMError(f"{path} holds no themes of criteria: {_REMAKE_THEMES}.") from error


def name_from(keywords: Sequence[str]) -> str:
    """Return what a theme is called that nobody has named."""
    name = ", ".join(keywords[:_NAME_WORDS])
    return name[:1].upper() + name[1:]


def _theme(value: Mapping[str, Any]) -> Theme:
    return Theme(
        name=str(value["name"]),
        keywords=tuple(map(str, value["keywords"])),
        n=int(value["n"]),
        adjectives=tuple((str(word), int(n)) for word, n in value["adjectives"]),
        examples=tuple(map(str, value["examples"])),
        parts=tuple(
            ThemeCluster(tuple(map(str, part["keywords"])), int(part["n"])) for part in value["parts"]
        ),
    )


def _named_like(theme: Theme, named: Sequence[Theme]) -> Theme:
    likest = max(named, key=lambda other: _likeness(theme, other), default=None)
    if likest is None or _likeness(theme, likest) < _SAME_THEME:
        return theme
    return replace(theme, name=likest.name)


def _likeness(theme: Theme, other: Theme) -> float:
    """Common clusters among the clusters of either (Jaccard)."""
    mine, others = ({part.keywords for part in one.parts} for one in (theme, other))
    return len(mine & others) / len(mine | others) if mine | others else 0.0


def _laid_out(value: Mapping[str, Any]) -> str:
    """JSON with one line a theme's field: changes of a name can be reviewed."""
    head = {key: entry for key, entry in value.items() if key != "themes"}
    themes = ",\n".join(
        "    {\n"
        + ",\n".join(f"      {json.dumps(key)}: {_compact(entry)}" for key, entry in theme.items())
        + "\n    }"
        for theme in value["themes"]
    )
    lines = [f"  {json.dumps(key)}: {_compact(entry)}" for key, entry in head.items()]
    return "{\n" + ",\n".join([*lines, f'  "themes": [\n{themes}\n  ]']) + "\n}\n"


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
