"""The names of entries in a folder, and the tags that tell whether an entry is what was stored."""

from __future__ import annotations

from _operator import _compare_digest

from optctx.errors import OptctxError

try:
    from _blake2 import blake2b  # hashlib loads OpenSSL, which takes longer than everything else about a tag
except ImportError:  # a Python without hashes of its own
    from hashlib import blake2b

__all__ = ["COMPILED_CODE", "TAG_SIZE", "Seal", "check_key"]

_SHORTEST_KEY = 16  # bytes
TAG_SIZE = 32  # bytes
_LONGEST_KEY = 64  # bytes that BLAKE2b takes
# Sets these tags apart from any other use of the same key.
COMPILED_CODE = b"optctx compile cache, format 3\0"


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
    """BLAKE2b of 32 bytes: without a key it finds damage, with one it finds forgery."""

    def __init__(self, key: bytes | None, domain: bytes = COMPILED_CODE) -> None:
        """`key`: of at least 16 bytes."""
        if key is not None and len(key) > _LONGEST_KEY:
            key = blake2b(key).digest()
        # The state after the domain, never the key itself: nothing can show it.
        self._copy = blake2b(domain, digest_size=TAG_SIZE, key=key or b"").copy

    def name(self, key: str) -> str:
        """The file of an entry. Caches with different keys have different files in one folder."""
        return self._digest(b"name\0", key.encode()).hex()

    def tag(self, name: str, value: bytes | memoryview) -> bytes:
        """What goes in front of a value. It covers the name: an entry that was moved does not match."""
        return self._digest(b"value\0", name.encode(), value)

    def matches(self, name: str, value: bytes | memoryview, tag: bytes | memoryview) -> bool:
        return _compare_digest(self.tag(name, value), tag)

    def _digest(self, *parts: bytes | memoryview) -> bytes:
        state = self._copy()
        for part in parts:  # all but the last have a fixed length
            state.update(part)
        return state.digest()
