"""Who may change data from the browser: whoever knows the admin token.

The token is set in the environment of the server and typed into the page. It never stands in an address, is
never logged, and is kept in memory as a keyed digest alone.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Hashable, Mapping
from math import ceil
from threading import Lock
from time import monotonic

from leaderboard.errors import AdminThrottledError, AdminTokenError, AdminUnavailableError
from leaderboard.yours.throttle import Backoff, Clock, Throttle

TOKEN_VARIABLE = "USL_ADMIN_TOKEN"
LEAST_LENGTH = 16

# A typing error or two cost nothing. Waits outlast the patience of whoever guesses in one session …
OF_A_SESSION = Backoff(free=2, first=1.0, longest=900.0, forget=3600.0)
# … and a new session for every guess helps nobody. An administrator who knows the token is held up for a
# minute at most while someone else guesses.
OF_EVERYONE = Backoff(free=10, first=1.0, longest=60.0, forget=3600.0)

_EVERYONE = "everyone"
_HOW_TO_ENABLE = (
    f"set {TOKEN_VARIABLE} to a secret of {LEAST_LENGTH} characters or more in the environment of the server "
    "and start it again; "
    'python -c "import secrets; print(secrets.token_urlsafe())" makes one'
)


class AdminGate:
    """Admits those who know the token; one for all sessions of a process, and safe for their threads.

    Behind several processes each throttles by itself.
    """

    __slots__ = ("_digest", "_everyone", "_key", "_lock", "_sessions", "_unavailable")

    def __init__(self, token: str | None, *, clock: Clock = monotonic) -> None:
        """Take the token, None or an empty one for none; ``clock`` gives seconds that never go back.

        White space around the token is no part of it, as files and shells tend to add some.
        """
        given = (token or "").strip()
        self._key = secrets.token_bytes(32)
        self._digest = self._digest_of(given)
        self._unavailable = _why_unavailable(given)
        self._sessions = Throttle(OF_A_SESSION, clock)
        self._everyone = Throttle(OF_EVERYONE, clock)
        self._lock = Lock()

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> AdminGate:
        """Take the token from USL_ADMIN_TOKEN."""
        return cls(environment.get(TOKEN_VARIABLE))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'enabled' if self.is_enabled else 'without a token'})"

    @property
    def is_enabled(self) -> bool:
        """Whether anyone can be admitted."""
        return self._unavailable is None

    @property
    def unavailable(self) -> str | None:
        """Why nobody can be admitted and how that is changed, in one sentence; None if somebody can."""
        return self._unavailable

    def admit(self, session: Hashable, attempt: str) -> None:
        """Return if the attempt is the token, else raise.

        Args:
            session: Tells the person's browser session from others. The page remembers whom it admitted, in
                the session's own state, and does not ask again.
            attempt: What the person typed.

        Raises:
            AdminUnavailableError: There is no token.
            AdminThrottledError: There were too many failures just now; the attempt is not compared.
            AdminTokenError: The attempt is not the token.
        """
        if self._unavailable is not None:
            raise AdminUnavailableError(self._unavailable)
        offered = self._digest_of(attempt.strip())
        # Asking for the wait, comparing and counting are one step: of attempts that come at once from many
        # threads each waits for the failures of those before it.
        with self._lock:
            wait = max(self._sessions.wait(session), self._everyone.wait(_EVERYONE))
            if wait > 0:
                raise AdminThrottledError(ceil(wait))
            if not hmac.compare_digest(offered, self._digest):
                self._sessions.fail(session)
                self._everyone.fail(_EVERYONE)
                raise AdminTokenError
            self._sessions.succeed(session)

    def _digest_of(self, text: str) -> bytes:
        """32 bytes whatever the text: a comparison takes as long for any, and its key is of this process."""
        return hmac.new(self._key, text.encode(errors="surrogatepass"), hashlib.sha256).digest()


def _why_unavailable(token: str) -> str | None:
    """Why nobody can be admitted with this token, without a word of it."""
    if not token:
        return f"Data can be changed from the command line only: to change it here, {_HOW_TO_ENABLE}."
    if len(token) < LEAST_LENGTH:
        return f"The admin token is too short to be safe: {_HOW_TO_ENABLE}."
    return None
