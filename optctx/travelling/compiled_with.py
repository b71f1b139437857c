r"""What a module says of the options that it was compiled with: stamps, or else recorded command lines.

    !llvm.commandline = !{!0}
    !0 = !{!"/usr/bin/clang -O2 -mllvm -unroll-count=4 my\\ file.c"}

clang and flang write one for each compiled module with `-frecord-command-line`. Spaces and backslashes have
a backslash before them (`EscapeSpacesAndBackslashes` in clang's driver). Only what follows `-mllvm` is an
option of LLVM's. Everything else in the line is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from optctx.engine.engine import Engine
from optctx.errors import LinkMismatchError, OptctxError, UntrustedOptionError, shown
from optctx.travelling.module_metadata import Room, TooLargeError, read_named
from optctx.travelling.stamps import Stamp, called, module_label, read_stamps, trusted_overrides
from optctx.trust import Trust
from optctx.values.overrides import Override, ProcessWideMode
from optctx.values.texts import Texts, needs_value, split_text

_MOST_DIFFERENT = 64  # stamps to compare; different texts may stand for the same values


class CompiledWith(NamedTuple):
    """What a module says. `unclear`: why the command lines that it has tell nothing; "" if they do."""

    stamps: list[Stamp]  # also those that stand for recorded command lines
    recorded: bool = False
    unclear: str = ""


def read_compiled_with(engine: Engine, module: object) -> CompiledWith:
    """Read the stamps of a module. Only if it has none, its recorded command lines stand for them.

    A stamp is the later word: the step that optimises a module stamps it, after the compiler's front end.
    Raises as `read_stamps` and `read_recorded` do, but not for another compiler.
    """
    stamps = read_stamps(engine.image, module)
    if stamps:
        return CompiledWith(stamps)
    try:
        recorded = read_recorded(engine, module)
    except OtherCompilerError as error:
        return CompiledWith([], unclear=str(error))
    return CompiledWith(recorded or [], recorded=bool(recorded))


def stamped_overrides(
    engine: Engine, module: object, mode: ProcessWideMode, trust: Trust
) -> list[tuple[Stamp, list[Override]]]:
    """Return the different stamps or command lines of a module, each with its overrides.

    Raises as `read_compiled_with` does, OptctxError for a module that says nothing, and LinkMismatchError for
    one with more than 64 different stamps. Raises UntrustedOptionError, and as `make_override` does, with the
    name of the stamped module.
    """
    found = read_compiled_with(engine, module)
    whose = f"cannot take the options of {called(module_label(engine.image, module))}"
    if found.unclear:
        raise OptctxError(found.unclear)
    if not found.stamps:
        raise OptctxError(
            f"{whose}: it carries no stamp and no recorded command line; call optctx.stamp(module, context) "
            "in the step that compiles it, or compile it with clang -frecord-command-line"
        )
    different = {tuple(sorted(stamp.options.items())): stamp for stamp in reversed(found.stamps)}
    if len(different) > _MOST_DIFFERENT:
        raise LinkMismatchError(
            f"{whose}: it was linked of modules that were compiled with {len(different)} different sets of "
            "options; `optctx check-link` shows them"
        )
    return [
        (stamp, trusted_overrides(engine, stamp.options, called(stamp.producer), mode, trust))
        for stamp in reversed(different.values())
    ]


_NAME = "llvm.commandline"
# Limits, because a module may be hostile.
_MOST_LINES = 100_000
_MOST_OPERANDS = 8  # of a node; clang writes one
_MOST_BYTES = 1 << 20  # of a line
_ALL_BYTES = 1 << 26  # of all
_MOST_OPTIONS = 4096  # of a line
_COMPILER: Final = re.compile(r"([\w.+-]+-)?(clang|clang\+\+|flang|flang-new)(-[0-9.]+)?(\.exe)?")
_LISTS = ("list", "bits")


class OtherCompilerError(OptctxError):
    """A command line was recorded by a program that may take LLVM's options otherwise than clang does."""


def read_recorded(engine: Engine, module: object) -> list[Stamp] | None:
    """Read the options in the different command lines of a module, in their order; None if it has none.

    Raises as `module_label` does, OptctxError for metadata of that name that clang does not write,
    OtherCompilerError, and UntrustedOptionError for too many or too long command lines.
    """
    label = module_label(engine.image, module)
    room = Room(_MOST_OPERANDS, _MOST_BYTES)
    try:
        nodes = read_named(
            engine.image, module, _NAME, 1, _MOST_LINES, room, Room(_MOST_LINES * _MOST_OPERANDS, _ALL_BYTES)
        )
    except TooLargeError as error:
        raise UntrustedOptionError(
            f"cannot read the recorded command lines of {called(label)}: at most {_MOST_LINES:,} are read, "
            f"each of at most {_MOST_BYTES:,} bytes, and {_ALL_BYTES:,} in all, but {error}; stamp the "
            "module instead"
        ) from None
    if not nodes:
        return None
    found = []
    for number, node in enumerate(dict.fromkeys(nodes), 1):
        words = _llvm_words(_split(_text(node, label)), label)
        producer = f"command line {number}" if len(nodes) > 1 else label
        found.append(Stamp(producer, _options(engine, words, label)))
    return found


def _text(node: tuple[object, ...], label: str) -> str:
    try:
        (text,) = node
        if isinstance(text, bytes):
            return text.decode()
    except ValueError:  # also from decoding
        pass
    raise OptctxError(
        f"cannot read the recorded command line of {called(label)}: expected !{_NAME} to hold nodes such as "
        '!{!"clang -O2 a.c"}, in UTF-8; compile it again with -frecord-command-line, or stamp it'
    )


def _split(text: str) -> list[str]:
    """Split a command line at the spaces that have no backslash before them, and take the backslashes out."""
    words, parts = [], []
    for part in text.split(" "):
        parts.append(part)
        if (len(part) - len(part.rstrip("\\"))) % 2 == 0:  # the space behind it has no backslash of its own
            words.append(re.sub(r"\\(.)", r"\1", " ".join(parts), flags=re.DOTALL))
            parts = []
    return [*words, *parts]


def _llvm_words(words: list[str], label: str) -> Iterator[str]:
    """Yield what the command line gives to LLVM. Raises OtherCompilerError."""
    program = re.split(r"[/\\]", words[0])[-1] if words else ""
    if not _COMPILER.fullmatch(program):
        raise OtherCompilerError(
            f"cannot read the recorded command line of {called(label)}: it is one of {shown(program)}, "
            "expected clang or flang; call optctx.stamp(module, context) in the step that compiles it"
        )
    rest = iter(words[1:])
    for word in rest:
        if word == "-Xclang":  # gives the next word to the compiler proper, and so often both of `-mllvm X`
            word = next(rest, "")
        if word.startswith("-mllvm="):
            yield word.removeprefix("-mllvm=")
        elif word == "-mllvm":
            value = next(rest, "")
            yield next(rest, "") if value == "-Xclang" else value


def _options(engine: Engine, words: Iterator[str], label: str) -> dict[str, Texts]:
    """Map options to texts, as LLVM takes the words; also those that this LLVM does not know or accept."""
    found: dict[str, list[str | None]] = {}
    for number, word in enumerate(words):
        if number == _MOST_OPTIONS:
            raise UntrustedOptionError(
                f"cannot read the recorded command line of {called(label)}: at most {_MOST_OPTIONS:,} "
                "options are read, and it has more; stamp the module instead"
            )
        name, equals, text = word.lstrip("-").partition("=")
        known = engine.options.get(name)
        if known is None:
            found.setdefault(name, []).append(text if equals else None)
            continue
        option = engine.resolve(known)
        given = text if equals else next(words, None) if needs_value(option) else None
        texts = (None,) if given is None else split_text(option, given)
        if option.type.kind.name not in _LISTS:
            found.pop(name, None)
        found.setdefault(name, []).extend(texts)
    return {name: tuple(texts) for name, texts in found.items()}
