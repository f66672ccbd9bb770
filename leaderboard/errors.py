"""What can go wrong with rankings: each message is one sentence that says how to fix it, shown as is."""

from parsing.messages import shown


class LeaderboardError(ValueError):
    """Something that the person who sees the message can fix; what it quotes is made fit to be shown."""

    def __init__(self, message: str) -> None:
        super().__init__(shown(message))


class UploadError(LeaderboardError):
    """A file from a person that is refused; the message names the file, the row and the reason."""

    def __init__(self, file: str, reason: str, row: int | None = None) -> None:
        self.reason, self.row = reason, row
        super().__init__(f"{file}{'' if row is None else f', row {row}'}: {reason}")


class BusyError(LeaderboardError):
    """So many wait already, or ask so often, that another one would wait for too long."""


class ClientBusyError(BusyError):
    """One client has so many waiting already as one may have; others may still ask."""


class AdminError(LeaderboardError):
    """Somebody who is not admitted to change data; the message never holds a token.

    Attributes:
        seconds: How long to wait before the next attempt; 0 where waiting does not help.
    """

    def __init__(self, reason: str, *, seconds: int = 0) -> None:
        super().__init__(reason)
        self.seconds = seconds
