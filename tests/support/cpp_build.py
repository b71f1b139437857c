"""Compiles C++ against the headers that come with the package, and calls it."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from ctypes import CFUNCTYPE, c_char_p, c_size_t, c_uint, c_uint64

import optctx
from tests.support.processes import SECONDS

ROOT = pathlib.Path(__file__).parents[2]
PROGRAMS = ROOT / "tests/programs/cpp"
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
SHARED = ("-shared", "-fPIC")


def compile_cpp(
    source: str | pathlib.Path, out: pathlib.Path, *flags: str, standard: str = "c++17"
) -> pathlib.Path:
    """Compiles one file, of tests/programs/cpp or elsewhere, without a warning; `out` is what it becomes.

    Once in a run of the tests for the same text and flags, whichever process asks.
    """
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")
    assert compiler, "a C++ compiler is needed, as it is to build the package"
    command = [*compiler.split(), f"-std={standard}", "-O1", *WARNINGS, f"-I{optctx.get_include()}"]
    command += [*flags, str(PROGRAMS / source)]
    made = _made(command)
    if made.exists():
        return pathlib.Path(shutil.copy(made, out))
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    done = subprocess.run(
        [*command, "-o", str(out), "-pthread", "-ldl"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    if out.exists():  # with -fsyntax-only there is nothing
        shutil.copy(out, whole := made.with_suffix(f".{os.getpid()}"))
        whole.rename(made)
    return out


def _made(command: list[str]) -> pathlib.Path:
    """Where the file is that a command makes of its last word, as that is now."""
    digest = hashlib.sha256(repr(command).encode() + pathlib.Path(command[-1]).read_bytes())
    folder = pathlib.Path(os.environ["XDG_CACHE_HOME"], "cpp")
    folder.mkdir(parents=True, exist_ok=True)
    return folder / digest.hexdigest()


Build = Callable[..., pathlib.Path]


def builds(folder: pathlib.Path) -> Build:
    """`compile_cpp` into a folder, once for the same flags; libraries are named lib*.so."""

    @functools.cache
    def build(source: str | pathlib.Path, *flags: str, standard: str = "c++17") -> pathlib.Path:
        stem = pathlib.Path(source).stem
        out = pathlib.Path(tempfile.mkdtemp(dir=folder)) / (f"lib{stem}.so" if SHARED[0] in flags else stem)
        return compile_cpp(source, out, *flags, standard=standard)

    return build


class Lookups:
    """tests/programs/cpp/lookups.cpp, loaded."""

    def __init__(self, path: pathlib.Path) -> None:
        library = ctypes.CDLL(str(path))
        by_text = CFUNCTYPE(c_char_p, c_char_p, c_char_p)
        self._look_up, self._look_up_kept = by_text(("look_up", library)), by_text(("look_up_kept", library))
        self.keep, self.drop = (CFUNCTYPE(None)((name, library)) for name in ("keep", "drop"))
        self.wrong = CFUNCTYPE(c_uint64, c_uint, c_uint64)(("wrong", library))
        self.torn = CFUNCTYPE(c_uint64, c_uint64)(("torn", library))

    def get(self, name: str, cpp_type: str) -> object:
        """optctx::get<cpp_type>(name) as a Python value; LookupError with an error's status and message."""
        return _value(self._look_up(name.encode(), cpp_type.encode()), cpp_type)

    def get_kept(self, name: str, cpp_type: str) -> object:
        """The same in a scope of the context that `keep` took."""
        return _value(self._look_up_kept(name.encode(), cpp_type.encode()), cpp_type)


class Scopes:
    """tests/programs/cpp/scopes.cpp, loaded. Calls raise RuntimeError with an error's status and message."""

    def __init__(self, path: pathlib.Path) -> None:
        self._library = ctypes.CDLL(str(path))

    def inside(self, name: str, text: str | bytes, body: Callable[[], object]) -> None:
        """Calls `body` in `optctx::Scope scope{{name, text}}`."""
        given = text.encode() if isinstance(text, str) else text
        self._call("in_scope", body, c_char_p(name.encode()), c_char_p(given), c_size_t(len(given)))

    def elements(self, name: str, first: str, second: str, body: Callable[[], object]) -> None:
        self._call("in_elements", body, *(c_char_p(each.encode()) for each in (name, first, second)))

    def typed(self, name: str, cpp_type: str, body: Callable[[], object]) -> None:
        """Calls `body` in a scope of a value of that type, which scopes.cpp says."""
        self._call("in_typed", body, c_char_p(name.encode()), c_char_p(cpp_type.encode()))

    def run(self, function: str, body: Callable[[], object]) -> None:
        """Calls a function of scopes.cpp that calls `body` one or more times."""
        self._call(function, body)

    def do(self, function: str, *arguments: int | str) -> None:
        """Calls a function of scopes.cpp that calls nothing back."""
        self._call(
            function,
            None,
            *(c_char_p(a.encode()) if isinstance(a, str) else c_size_t(a) for a in arguments),
        )

    def _call(self, function: str, body: Callable[[], object] | None, *arguments: object) -> None:
        raised: list[BaseException] = []

        def call_back() -> None:
            try:
                assert body is not None
                body()
            except BaseException as error:  # handed on: ctypes would print it
                raised.append(error)

        native = self._library[function]
        native.restype = c_char_p
        answer = native(*arguments, *([] if body is None else [CFUNCTYPE(None)(call_back)]))
        if raised:
            raise raised[0]
        if answer:
            raise RuntimeError(answer.decode())


def _value(answer: bytes, cpp_type: str) -> object:
    text = answer.decode()
    if not text.startswith("="):
        raise LookupError(text)
    return _parse(text[1:], cpp_type)


def _parse(text: str, cpp_type: str) -> object:
    if cpp_type.startswith("std::optional<"):
        element = cpp_type.removeprefix("std::optional<").removesuffix(">")
        return None if text == "None" else _parse(text, element)
    if cpp_type == "bool":
        return {"True": True, "False": False}[text]
    if cpp_type in ("float", "double"):
        return float.fromhex(text)
    return text if cpp_type in ("std::string", "char") else int(text)
