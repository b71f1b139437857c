"""Reads command lines as `opt` and `llc` would: -name=value, --name=value, -name value, -name."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable

from optctx.engine.engine import Engine
from optctx.errors import OptionTypeError, OptionValueError, shown
from optctx.image.options import RegisteredOption
from optctx.values.overrides import make_override, scopable
from optctx.values.registry import find
from optctx.values.texts import Texts, needs_value, split_text

_LISTS = ("list", "bits")
_ADDING_UP = ("debug-only",)  # given twice, it is as if given once with a comma


def parse_args(
    engine: Engine,
    args: Iterable[str] | str,
    check: Callable[[RegisteredOption, str], None] | None = None,
    *,
    of_process: bool = False,
) -> dict[str, Texts]:
    """Map the name of each option to its occurrences: the last one, or all of them for a list.

    `check` gets every option, and the name it was given by, before any other check of that option, and may
    raise. `of_process`: take options that cannot be scoped, too.

    Raises UnknownOptionError, ProcessWideOptionError as `scopable` does, OptionValueError for a missing value
    or an argument that is not an option, and OptionTypeError for arguments that are not text.
    """
    found: dict[str, Texts] = {}
    rest = iter(_words(args))
    last = ""
    for word in rest:
        if not word.startswith("-") or word.strip("-") == "":
            raise OptionValueError(
                f"cannot read {shown(word)} as an option: expected -name or -name=value"
                f"{_hint(engine, word, last)}"
            )
        name, equals, text = word[1:].removeprefix("-").partition("=")
        if check is not None:
            check(engine.resolve(find(engine, name)), name)
        target = engine.resolve(find(engine, name)) if of_process else scopable(engine, name)
        if equals:
            texts = split_text(target, text)
        elif needs_value(target) and (following := next(rest, None)) is not None:
            last = following
            texts = split_text(target, last)
        else:
            texts = (None,)
        before = found.pop(name, ())  # the last one counts, also among several names of one option
        if target.type.kind.name in _LISTS:
            texts = before + texts
        elif name in _ADDING_UP and texts != (None,):
            texts = (",".join(text for text in before + texts if text),)
        found[name] = texts
    return found


def process_args(engine: Engine, args: Iterable[str] | str) -> list[str]:
    """Write arguments as LLVM prints them, those of options that cannot be scoped as they are given.

    For a process of its own. Raises as `parse_args` and `make_override` do.
    """
    found: list[str] = []
    for name, texts in parse_args(engine, args, of_process=True).items():
        if engine.resolve(find(engine, name)).slot is None:
            found += [f"-{name}" if text is None else f"-{name}={text}" for text in texts]
        else:
            found += make_override(engine, name, texts).args()
    return found


def _hint(engine: Engine, word: str, last: str) -> str:
    """Say what to write instead of a word without a dash; `last` is the value before it."""
    if last == "=":
        return "; write -name=value without spaces around '='"
    name, equals, text = word.partition("=")
    return f"; did you mean {shown(f'-{name}{equals}{text}')}?" if name in engine.options else ""


def _words(args: Iterable[str] | str) -> list[str]:
    if isinstance(args, str):
        try:
            return shlex.split(args)
        except ValueError as error:
            raise OptionValueError(
                f"cannot read the command line {shown(args)}: {error}; write it as for a shell"
            ) from error
    words = list(args) if isinstance(args, Iterable) else [args]
    for word in words:
        if not isinstance(word, str):
            raise OptionTypeError(
                f"a command line is a str or strings, found {shown(word)} of type {type(word).__name__}"
            )
    return words
