"""What can go wrong with win rates and rankings, each said in one sentence that tells how to mend it."""


class LeaderboardError(ValueError):
    """Base of the errors a person can mend: their message is shown to them as it stands."""


class ShapeError(LeaderboardError):
    """Arrays that do not fit each other, such as a topic missing for some query."""


class ProbabilityError(LeaderboardError):
    """A score matrix with values that are no probabilities."""


class WeightsError(LeaderboardError):
    """Query weights that are negative, not finite, or all zero."""


class NoQueriesError(LeaderboardError):
    """A selection that leaves no query to rank on."""


class OptionError(LeaderboardError):
    """A number of resamples, seed, level or persistence outside its range."""


class DuplicateLLMError(LeaderboardError):
    """One LLM named twice where each may stand once."""


class RankError(LeaderboardError):
    """A rank that is not a finite number."""


class NoCommonLLMsError(LeaderboardError):
    """Two rankings that share no LLM and so cannot be compared."""


class UnknownCategoryError(LeaderboardError):
    """A category asked for that the ranking does not have."""


class RankingFileError(LeaderboardError):
    """A ranking file that cannot be read; the message names the row and the reason."""


class UnknownTopicError(LeaderboardError):
    """A topic or category that the benchmark does not have."""


class TopicWeightError(LeaderboardError):
    """A weight of a topic that cannot be read or is out of range."""


class InterestError(LeaderboardError):
    """A description of what a person uses LLMs for that is too long."""


class EmbeddingsMissingError(LeaderboardError):
    """A benchmark whose queries have no stored embeddings."""


class UnknownQueryError(LeaderboardError):
    """A query that the benchmark does not have."""


class UnknownLLMError(LeaderboardError):
    """An LLM that the benchmark does not rank."""


class UnknownControlError(LeaderboardError):
    """A control of length or style that does not exist."""


class StyleCountsMissingError(LeaderboardError):
    """A benchmark of whose responses neither length nor style is known."""


class NothingToRankError(LeaderboardError):
    """A benchmark without a baseline or without contenders."""


class JudgingError(LeaderboardError):
    """A judge that answers what cannot be right, or whose work ended early."""


class BusyError(LeaderboardError):
    """An LLM that is asked as much as it may be at once."""


class ReplyError(LeaderboardError):
    """A reply of an LLM that was cut or withheld; the message says which."""


class RefusedReplyError(ReplyError):
    """A reply that an LLM refused."""


class CritiqueError(LeaderboardError):
    """A critique that cannot be had; the message says why."""


class OptionsError(LeaderboardError):
    """A setting of the environment that cannot be used."""


class CurationError(LeaderboardError):
    """A change of topics that is impossible."""


class TopicsChangedError(CurationError):
    """The topics are no longer those that the person looked at."""

    def __init__(self) -> None:
        super().__init__("Somebody else changed the topics meanwhile: look again.")


class TopicsFileError(LeaderboardError):
    """A file of topics that cannot be taken over; the message names the place and the reason."""

    def __init__(self, file: str, reason: str) -> None:
        super().__init__(f"{file}: {reason}")


class OwnDataError(LeaderboardError):
    """Data that cannot be imported or deleted from the browser; the message says why."""


class UploadError(LeaderboardError):
    """An uploaded file that is refused; the message names the file, the row and the reason."""

    def __init__(self, file: str, reason: str, row: int | None = None) -> None:
        super().__init__(f"{file}{'' if row is None else f', row {row}'}: {reason}")


class SessionMaterialError(LeaderboardError):
    """Material of a session that cannot be ranked; the message says why."""


class ProfileFileError(LeaderboardError):
    """A profile that cannot be read; the message names the place and the reason."""

    def __init__(self, file: str, reason: str) -> None:
        super().__init__(f"{file}: {reason}")


class ProfileError(LeaderboardError):
    """A profile that cannot be saved, opened or changed; the message never holds a token."""


class UnknownProfileError(ProfileError):
    """A private link that opens nothing."""

    def __init__(self) -> None:
        super().__init__("This private link opens no profile: it was deleted, or the link is not complete.")


class ProfileChangedError(ProfileError):
    """The profile is no longer as it was opened."""

    def __init__(self) -> None:
        super().__init__("The profile was changed elsewhere meanwhile: open its private link again.")


class AdminError(LeaderboardError):
    """Somebody who is not admitted to change data; the message never holds a token."""


class AdminUnavailableError(AdminError):
    """Data cannot be changed from the browser; the message says how that is enabled."""


class AdminTokenError(AdminError):
    """An attempt that is not the admin token."""

    def __init__(self) -> None:
        super().__init__("This is not the admin token.")


class AdminThrottledError(AdminError):
    """Too many attempts; ``seconds`` are left to wait."""

    def __init__(self, seconds: int) -> None:
        plural = "" if seconds == 1 else "s"
        super().__init__(f"Too many wrong tokens: try again in {seconds} second{plural}.")
        self.seconds = seconds


class NotMeasuredError(LeaderboardError):
    """A judge from whose verdicts a person's criteria cannot be learnt."""


class NoPairsError(LeaderboardError):
    """A selection in which no two responses can be shown to a person side by side."""
