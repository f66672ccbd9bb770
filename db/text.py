"""The one form in which query and response texts are stored and hashed."""

import hashlib


def storable_text(text: str) -> str:
    """Returns the text as both databases can hold it.

    PostgreSQL refuses NUL and neither database takes lone surrogates, yet public corpora contain both: each
    becomes U+FFFD. Any other text is returned unchanged.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\x00", "\N{REPLACEMENT CHARACTER}")


def text_sha256(text: str) -> str:
    """Returns the SHA-256 (64 hex digits) of the storable text in UTF-8, by which queries are joined."""
    return hashlib.sha256(storable_text(text).encode()).hexdigest()
