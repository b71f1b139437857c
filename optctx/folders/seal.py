"""The names of entries in a folder, and the tags that tell whether an entry is what was stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from optctx.errors import OptctxError

if (
    TYPE_CHECKING
):  # loading OpenSSL takes longer than importing the rest of this package; only folders need it
    import hashlib
    import hmac

__all__ = ["COMPILED_CODE", "TAG_SIZE", "Seal", "check_key"]

_SHORTEST_KEY = 16  # bytes
TAG_SIZE = 32  # bytes of SHA-256
# Sets these tags apart from any other use of the same key.
COMPILED_CODE = b"optctx compile cache, format 2\0"


def check_key(key: object) -> bytes | None:
    """Return the key of a cache. Raises TypeError, and OptctxError for a short one; neither shows it."""
    if key is None:
        return None
    if not isinstance(key, bytes):
        raise TypeError(f"expected bytes or None as key of a compile cache, found {type(key).__name__}")
    if len(key) < _SHORTEST_KEY:
        raise OptctxError(
            f"cannot authenticate compiled code with this key: expected {_SHORTEST_KEY} bytes or more, found "
            f"{len(key)}; secrets.token_bytes(32) makes one"
        )
    return key


class Seal:
    """SHA-256 without a key, which finds damage; HMAC-SHA-256 with one, which finds forgery."""

    def __init__(self, key: bytes | None, domain: bytes = COMPILED_CODE) -> None:
        import hashlib
        import hmac

        self._compare = hmac.compare_digest
        # The state after the domain, never the key itself: nothing can show it.
        self._copy: Callable[[], hashlib._Hash | hmac.HMAC]
        if key is None:
            self._copy = hashlib.sha256(domain).copy
        else:
            self._copy = hmac.new(key, domain, "sha256").copy

    def name(self, key: str) -> str:
        """The file of an entry. Caches with different keys have different files in one folder."""
        return self._digest(b"name\0", key.encode()).hex()

    def tag(self, name: str, value: bytes | memoryview) -> bytes:
        """What goes in front of a value. It covers the name: an entry that was moved does not match."""
        return self._digest(b"value\0", name.encode(), value)

    def matches(self, name: str, value: bytes | memoryview, tag: bytes | memoryview) -> bool:
        return self._compare(self.tag(name, value), tag)

    def _digest(self, *parts: bytes | memoryview) -> bytes:
        state = self._copy()
        for part in parts:  # all but the last have a fixed length
            state.update(part)
        return state.digest()
