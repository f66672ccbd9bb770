"""The conversations in an export's ZIP archive, unpacked in memory within limits."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import PurePosixPath

from leaderboard.errors import UploadError

MOST_UNPACKED_MEGABYTES = 100
MOST_RATIO = 100
"""How many times larger than packed a file may be; texts are about ten times."""
MOST_MEMBERS = 50_000

_CONVERSATIONS = re.compile(r"conversations(-\d+)?\.json", re.IGNORECASE)
_MEMBER = b"PK\x01\x02"
_ENCRYPTED = 0x1


def conversation_files(content: bytes, file: str) -> Iterator[bytes]:
    """Each ``conversations.json`` of an archive; large exports are split into ``conversations-000.json`` etc.

    Nothing else in the archive is unpacked, and nothing is written.

    Raises:
        UploadError: It is no archive, holds no conversations, or unpacks to more than is read.
    """
    if content.count(_MEMBER) > MOST_MEMBERS:
        raise UploadError(
            file, f"it holds more than {MOST_MEMBERS:,} files; upload conversations.json alone."
        )
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = [member for member in archive.infolist() if _is_conversations(member.filename)]
            if not members:
                reason = "there is no conversations.json in it: upload an export of ChatGPT, or a table."
                raise UploadError(file, reason)
            left = MOST_UNPACKED_MEGABYTES * 2**20
            for member in members:
                unpacked = _unpacked(archive, member, left, file)
                left -= len(unpacked)
                yield unpacked
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, OSError) as error:
        raise UploadError(file, f"this is no ZIP archive that can be read ({error}).") from None


def _is_conversations(name: str) -> bool:
    path = PurePosixPath(name)
    return bool(_CONVERSATIONS.fullmatch(path.name)) and "__MACOSX" not in path.parts


def _unpacked(archive: zipfile.ZipFile, member: zipfile.ZipInfo, most: int, file: str) -> bytes:
    """A member's bytes; its size is measured, whatever the archive says of it."""
    if member.flag_bits & _ENCRYPTED:
        raise UploadError(file, "it is locked with a password: unpack it and upload conversations.json.")
    most = min(most, MOST_RATIO * max(member.compress_size, 1))
    with archive.open(member) as packed:
        content = packed.read(most + 1)
    if len(content) > most:
        reason = f"it unpacks to more than {MOST_UNPACKED_MEGABYTES} MB, or is packed suspiciously well"
        raise UploadError(file, f"{reason}: upload a part of conversations.json.")
    return content
