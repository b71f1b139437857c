"""Stamps, and overrides from them: nodes of the metadata `!optctx.options`, one for each compiled module.

    !optctx.options = !{!0}
    !0 = !{!"1", !"kernel.c", !1, !2, !3}       format, module, options in order of name
    !1 = !{!"enable-gvn-hoist", !"true"}        -enable-gvn-hoist=true
    !2 = !{!"mattr", !"+avx", !"-fma"}          a list: an operand for each occurrence
    !3 = !{!"regbankselect-fast", null}         -regbankselect-fast, without a value

LLVM's linker appends the nodes of one module to those of the other, so a linked module has the stamps of all
its parts. Values are written as on a command line: the text means the same in every process, and people who
read the module can see what it was compiled with.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from optctx._native import Kind
from optctx.engine.engine import Engine
from optctx.errors import (
    LinkMismatchError,
    OptctxError,
    OptionValueError,
    ProcessWideOptionError,
    UnknownOptionError,
    UntrustedOptionError,
    shown,
)
from optctx.image.loaded import Image
from optctx.travelling.module_metadata import (
    OTHER,
    Node,
    Room,
    TooLargeError,
    module_names,
    read_named,
    write_named,
)
from optctx.values.overrides import Override, make_override
from optctx.values.registry import find
from optctx.values.texts import Texts
from optctx.values.trust import Trust
from optctx.wording import first_few

_NAME = "optctx.options"
_FORMAT = "1"
_DEPTH = 2  # a stamp, and an option in it
# Limits, because a module may be hostile. A linked module has a stamp for each of its parts.
_MOST_STAMPS = 100_000
_MOST_OPERANDS = 4096  # of a stamp: for each option a node, in it the name and a text for each occurrence
_MOST_BYTES = 1 << 16  # of a stamp, half of them for the name of its module
_LONGEST_NAME = 1 << 12  # characters of that name that are written
_ALL_OPERANDS, _ALL_BYTES = 1 << 22, 1 << 26  # of all stamps
_HEAD = 2  # operands before the options
_NO_NAMES = ("", "<string>")  # identifiers of modules that llvmlite parses from bitcode and from text


class Stamp(NamedTuple):
    """The options that a module was compiled with; `producer` is that module, empty if it had no name."""

    producer: str
    options: Mapping[str, Texts]


def module_identifier(image: Image, module: object) -> str:
    """Return the name that a module was given after it was read (`module.name`), or an empty string.

    `module`: as the users of the image's host hold it. Raises as `module_names` does.
    """
    identifier, _ = module_names(image, module)
    return "" if identifier in _NO_NAMES else identifier


def module_label(image: Image, module: object) -> str:
    """Return a module's identifier, else its source file, else "". Raises as `module_identifier` does."""
    names = module_names(image, module)
    return next((name for name in names if name not in _NO_NAMES), "")


def called(label: str) -> str:
    """Name a module in a message."""
    return f"module {shown(label)}" if label else "a module without a name"


def by_name(name: str) -> str:
    """Return a key to sort options by. `debug` and `debug-only` keep their order: the last one counts."""
    return "debug-only" if name == "debug" else name


def write_stamp(image: Image, module: object, options: Mapping[str, Texts]) -> None:
    """Replace all stamps of a module with one.

    Raises as `module_label` does, and OptctxError for more options than `read_stamps` accepts.
    """
    _check_size(options)
    node: Node = (
        _FORMAT.encode(),
        module_label(image, module)[:_LONGEST_NAME].encode(),
        *(_option_node(name, options[name]) for name in sorted(options, key=by_name)),
    )
    write_named(image, module, _NAME, node)


def read_stamps(image: Image, module: object) -> list[Stamp]:
    """Read the stamps of a module, in the order in which it was linked; none if it was never stamped.

    Raises as `module_label` does, OptctxError for metadata of that name that is not a stamp, and
    UntrustedOptionError for too many stamps, or too large ones.
    """
    label = module_label(image, module)
    room, whole = Room(_MOST_OPERANDS, _MOST_BYTES), Room(_ALL_OPERANDS, _ALL_BYTES)
    try:
        nodes = read_named(image, module, _NAME, _DEPTH, _MOST_STAMPS, room, whole)
    except TooLargeError as error:
        raise UntrustedOptionError(
            f"cannot read the stamps of {called(label)}: at most {_MOST_STAMPS:,} are read, each of at most "
            f"{_MOST_OPERANDS:,} operands and {_MOST_BYTES:,} bytes, of {_ALL_OPERANDS:,} and {_ALL_BYTES:,} "
            f"in all, but {error}; stamp the module again in the step that compiles it"
        ) from None
    return [_stamp(node, label) for node in nodes]


def _check_size(options: Mapping[str, Texts]) -> None:
    texts = [text or "" for name in options for text in (name, *options[name])]
    size = sum(len(text.encode()) for text in texts)
    operands = len(texts) + len(options)
    if operands > _MOST_OPERANDS - _HEAD or size > _MOST_BYTES // 2:
        raise OptctxError(
            f"cannot stamp a module with options of {size:,} bytes in {len(texts):,} texts: a stamp holds "
            f"{_MOST_BYTES // 2:,} bytes in about {_MOST_OPERANDS:,} texts; stamp it with fewer options"
        )


def _option_node(name: str, texts: Texts) -> Node:
    return name.encode(), *(None if text is None else text.encode() for text in texts)


def _stamp(node: tuple[object, ...], label: str) -> Stamp:
    try:
        form, *rest = node
        if _text(form) != _FORMAT:
            raise _malformed(label, node, f"format {_FORMAT}, which this release of optctx reads")
        producer, *entries = rest
        found = [_option(entry) for entry in entries]
        options = dict(found)
        if len(options) != len(found):
            raise ValueError("an option twice")
        return Stamp(_text(producer), options)
    except ValueError:  # also from unpacking and decoding
        raise _malformed(
            label, node, 'a node such as !{!"1", !"kernel.c", !{!"unroll-count", !"4"}}'
        ) from None


def _option(entry: object) -> tuple[str, Texts]:
    if not isinstance(entry, tuple):
        raise ValueError("no node")
    name, *texts = entry
    return _text(name), tuple(None if text is None else _text(text) for text in texts)


def _text(operand: object) -> str:
    if not isinstance(operand, bytes):
        raise ValueError("no text")
    return operand.decode()


def _malformed(label: str, node: tuple[object, ...], expected: str) -> OptctxError:
    return OptctxError(
        f"cannot read the stamp of {called(label)}: expected !{_NAME} to hold {expected}, "
        f"found {shown(_plain(node))}; stamp the module again in the step that compiles it"
    )


def _plain(operand: object) -> object:
    """Make an operand fit for a message: text for bytes, and `...` for what is not text."""
    if isinstance(operand, tuple):
        return tuple(_plain(each) for each in operand)
    if operand is OTHER:
        return ...
    return operand.decode(errors="backslashreplace") if isinstance(operand, bytes) else operand


def trusted_overrides(
    engine: Engine, options: Mapping[str, Texts], whose: str, trust: Trust
) -> list[Override]:
    """Make the overrides that an untrusted text asks for. Errors say `whose` options they are.

    Raises UntrustedOptionError, UnknownOptionError, OptionValueError and ProcessWideOptionError.
    """
    try:
        return [trusted_override(engine, name, texts, trust) for name, texts in options.items()]
    except (UntrustedOptionError, UnknownOptionError, ProcessWideOptionError, OptionValueError) as error:
        error.args = (f"cannot take the options of {whose}: {error}",)
        raise


def stamped_overrides(engine: Engine, module: object, trust: Trust) -> list[Override]:
    """Return the overrides of a module's stamps, which must be equal.

    Raises as `read_stamps` does, OptctxError for a module without a stamp, and LinkMismatchError if stamps
    differ. Raises UntrustedOptionError, and as `make_override` does, with the name of the stamped module.
    """
    stamps = read_stamps(engine.image, module)
    whose = f"cannot take the options of {called(module_label(engine.image, module))}"
    if not stamps:
        raise OptctxError(
            f"{whose}: it carries no stamp; call optctx.stamp(module, context) in the step that compiles it"
        )
    first = stamps[0]
    for other in stamps:
        if other.options != first.options:
            names = sorted({shown(name) for name, _ in first.options.items() ^ other.options.items()})
            raise LinkMismatchError(
                f"{whose}: {called(first.producer)} and {called(other.producer)} in it were compiled with "
                f"different ones, {first_few(names)}; compile them with the same "
                "options, or make a context by hand (optctx.check_link, before they are linked, shows every "
                "difference)"
            )
    return trusted_overrides(engine, first.options, called(first.producer), trust)


def trusted_override(engine: Engine, name: str, texts: Texts, trust: Trust) -> Override:
    """Make an override, if the option and its value are trusted.

    Raises UntrustedOptionError if they are not, and as `make_override` does.
    """
    option = engine.resolve(find(engine, name))
    trust.check(option, name)
    trust.check_text(option, name, texts)
    if not texts and option.type.kind not in (Kind.list, Kind.bits):
        raise OptionValueError(f"cannot set {name!r} without an occurrence: it is no list")
    override = make_override(engine, name, texts)
    trust.check_value(option, name, override.value())
    return override
