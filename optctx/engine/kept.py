"""Keeps what is worked out about a library for the next process of this user (design/attach-fast.md).

Nothing here makes attaching fail or wait. What is off is left alone, and attaching works everything out.
"""

from __future__ import annotations

import marshal
import os
import sys
from collections.abc import Iterable, Iterator
from importlib.util import find_spec

from optctx import _native
from optctx.arch import processor
from optctx.errors import OptctxError
from optctx.image.loaded import Image
from optctx.store import FolderStore

VARIABLE = "OPTCTX_ATTACH_CACHE"
_OFF = "off"
_FORMAT = 1
_SIZE_LIMIT = 1 << 25  # bytes; an entry has about half a megabyte
_FOLDERS = ("arch", "image", "plan", "engine")  # of this package: whose code works the findings out
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class _Store(FolderStore):
    what = "what attaching works out"

    def __init__(self, directory: str) -> None:
        self.problem = ""
        super().__init__(directory, _SIZE_LIMIT)

    def _report(self, kind: str, what: str) -> None:
        self.problem = self.problem or what


class Kept:
    """What this user keeps of one image. `state`: for reports, what was done with it, or why nothing was."""

    def __init__(self, image: Image) -> None:
        self._image = image
        self._store: _Store | None = None
        self._name = ""
        self.state = ""
        wanted = os.environ.get(VARIABLE, "")
        if wanted not in ("", _OFF):
            raise OptctxError(
                f"cannot choose what to keep: expected {VARIABLE} to be {_OFF} or empty, found {wanted!r}"
            )
        if wanted == _OFF:
            self.state = f"{VARIABLE}={_OFF}"
            return
        try:
            self._name = _name(image)
            self._store = _open()
        except (OSError, ValueError, OptctxError) as error:
            if isinstance(error, OSError) and error.errno is None:
                raise  # a signal handler's, such as TimeoutError()
            self.state = f"not kept: {error}"

    @property
    def wanted(self) -> bool:
        """Whether anything can be kept."""
        return self._store is not None

    def load(self) -> bool:
        """Take over what an earlier process has kept, if there is anything and it is whole."""
        if self._store is None:
            return False
        packed = self._store.get(self._name)
        if packed is None:
            self.state = f"not used: {self._store.problem}" if self._store.problem else "none yet"
            return False
        try:
            taken = self._image.findings.take_over(marshal.loads(packed))
        except (EOFError, TypeError, ValueError):
            taken = False
        self.state = "used" if taken else "not used: it has another form"
        return taken

    def drop(self, why: str) -> None:
        """Forget what was taken over, because it does not fit."""
        self._image.findings.forget()
        self.state = f"not used: {why}"

    def save(self) -> None:
        """Keep what is known now. Something can be kept (`wanted`)."""
        assert self._store is not None
        self._store.problem = ""
        self._store.set(self._name, marshal.dumps(self._image.findings.data()))
        self.state = f"not kept: {self._store.problem}" if self._store.problem else "kept"


def cache_folder() -> str:
    """Name the folder of this user for what can be made again. Does not make it."""
    from platformdirs import user_cache_dir

    return user_cache_dir("optctx", appauthor=False)


def _open() -> _Store:
    path = cache_folder()
    if not os.path.isabs(path):
        raise OptctxError(f"this user has no home ({path})")
    parent = path
    while not os.path.isdir(parent):
        parent = os.path.dirname(parent)
    if os.stat(parent).st_uid != os.geteuid():  # sudo keeps HOME
        raise OptctxError(f"{parent} belongs to another user")
    return _Store(os.path.join(path, "attach"))


def _name(image: Image) -> str:
    """Name an entry by all that the findings follow from: files of the library, the decoder and this package.

    Files count by device, inode, size and times: a file that was changed has another time of change.
    """
    spec = find_spec(processor.decoder_package)
    if spec is None or spec.origin is None:
        raise OptctxError("no decoder is installed")
    own_files = _own_files(os.path.join(_PACKAGE, each) for each in _FOLDERS)
    own = [_status(path) for path in (spec.origin, str(_native.__file__), *own_files)]
    return repr((_FORMAT, sys.version, image.build_id, image.identity, image.path, image.debug_file, own))


def _own_files(folders: Iterable[str]) -> Iterator[str]:
    for folder in folders:
        with os.scandir(folder) as listing:
            found = sorted(listing, key=lambda entry: entry.name)
        yield from (each.path for each in found if each.name.endswith(".py"))
        yield from _own_files(each.path for each in found if "." not in each.name and each.is_dir())


def _status(path: str) -> tuple[str, int, int, int, int, int]:
    found = os.stat(path)
    return path, found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
