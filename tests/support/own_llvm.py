"""An LLVM that is linked of LLVM's archives, compiling with it, and what optctx claims of it."""

from __future__ import annotations

import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import pytest

from optctx import OptctxError
from optctx.engine.attach import attach
from optctx.image.loaded import Image
from tests.support.processes import output_of

ROOT = pathlib.Path(__file__).parents[2]
PARTS = ("core", "irreader", "passes")
CONFIG = shutil.which("llvm-config-19")

needs_archives = pytest.mark.skipif(
    CONFIG is None,
    reason="needs a libLLVM with symbols, linked of LLVM's archives (Debian: llvm-19-dev, g++)",
)


def link(*words: str) -> str:
    """Link a shared LLVM of these components of LLVM's, with these flags: once in a run of the tests."""
    name = hashlib.sha256(repr(words).encode()).hexdigest()
    library = pathlib.Path(os.environ["XDG_CACHE_HOME"], "llvm", name, "libLLVM-19.so")
    library.parent.mkdir(parents=True, exist_ok=True)
    with open(library.with_name("lock"), "w") as lock:  # the first process of pytest-xdist links, others wait
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not library.exists():
            _link(library, words)
    return str(library)


def _link(library: pathlib.Path, words: Sequence[str]) -> None:
    assert CONFIG is not None
    flags, components = ([word for word in words if word.startswith("-") is given] for given in (True, False))
    config = partial(output_of, CONFIG, "--link-static")
    archives, others = config("--libfiles", *components).split(), config("--system-libs", *components).split()
    others = [word.replace("-lzstd", "-l:libzstd.so.1") for word in others]  # llvm-19-dev has no libzstd-dev
    whole = ("-Wl,--whole-archive", *archives, "-Wl,--no-whole-archive")
    made = library.with_suffix(".made")
    subprocess.run(["g++", "-shared", *flags, "-o", made, *whole, *others], check=True)
    made.rename(library)


def error_of(call: Callable[[], object]) -> str:
    with pytest.raises((OptctxError, TypeError)) as caught:
        call()
    return f"{caught.typename}: {caught.value}"


class Claims(NamedTuple):
    """What is claimed of options and of the code that reads them, as offsets from the base."""

    options: set[Any]
    sites: set[Any]
    functions: set[Any]


def claims_of(image: Image) -> Claims:
    plan, base = attach(image).plan, image.base
    claims = Claims(set(), set(), set())
    for option in plan.options.values():
        if option.scope != "process":
            at = None if option.size is None else option.address - base  # on the heap
            own = option.name, at, option.size, option.type, option.place.offset
            claims.options.add((*own, option.callback, option.set_default_index, option.flag_default_index))
    for site in plan.references.sites:
        function = image.function_at(site.address)
        assert function is not None
        at = site.address - base
        claims.sites.add((at, site.region - base, site.offset, site.length, site.takes_address))
        claims.functions.add((at, function.address - base, function.size))
    return claims
