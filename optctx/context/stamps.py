"""What a stamp is: a node of the named metadata `!optctx.options`, one for each module that was compiled.

    !optctx.options = !{!0}
    !0 = !{!"1", !"kernel.c", !1, !2, !3}       format, module, options in order of name
    !1 = !{!"enable-gvn-hoist", !"true"}        -enable-gvn-hoist=true
    !2 = !{!"mattr", !"+avx", !"-fma"}          a list, an occurrence each
    !3 = !{!"regbankselect-fast", null}         -regbankselect-fast, without a value

LLVM's linker appends the nodes of one module to those of the other, so that a linked module has the stamps
of all the modules that it was made of. Texts are those of the command line: they mean the same to every
process, and whoever reads the module sees what it was compiled with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from optctx.context.text import Texts
from optctx.errors import OptctxError, shown
from optctx.image.handles import module_address
from optctx.image.metadata import OTHER, Node, module_names, read_named, write_named

__all__ = ["Stamp", "called", "module_identifier", "module_label", "read_stamps", "write_stamp"]

_NAME = "optctx.options"
_FORMAT = "1"
_DEPTH = 2  # a stamp, and an option in it
_NO_NAMES = ("", "<string>")  # of what llvmlite parses: bitcode, text


@dataclass(frozen=True)
class Stamp:
    """The options that a module was compiled with; `producer` is that module, empty if it had no name."""

    producer: str
    options: Mapping[str, Texts]


def module_identifier(module: object) -> str:
    """The name that a module was given after it was read (`module.name`), or an empty string.

    Raises TypeError for anything but llvmlite's ModuleRef, OptctxError for a closed one.
    """
    identifier, _ = module_names(module_address(module))
    return "" if identifier in _NO_NAMES else identifier


def module_label(module: object) -> str:
    """What to call a module: its identifier or else its source file; may be empty. Raises as above."""
    names = module_names(module_address(module))
    return next((name for name in names if name not in _NO_NAMES), "")


def called(label: str) -> str:
    """A module in a message."""
    return f"module {label!r}" if label else "a module without a name"


def write_stamp(module: object, options: Mapping[str, Texts]) -> None:
    """Replaces all stamps of a module by one. Raises as `module_label` does."""
    node: Node = (
        _FORMAT.encode(),
        module_label(module).encode(),
        *(_option_node(name, options[name]) for name in sorted(options)),
    )
    write_named(module_address(module), _NAME, [node])


def read_stamps(module: object) -> list[Stamp]:
    """The stamps of a module, in the order in which it was linked; none if it was never stamped.

    Raises as `module_label` does, and OptctxError for metadata of that name that is no stamp.
    """
    address = module_address(module)
    nodes = read_named(address, _NAME, _DEPTH)
    return [_stamp(node, module_label(module)) for node in nodes or ()]


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
    except ValueError:  # of unpacking and decoding, too
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
    """An operand for a message."""
    if isinstance(operand, tuple):
        return tuple(_plain(each) for each in operand)
    if operand is OTHER:
        return ...
    return operand.decode(errors="backslashreplace") if isinstance(operand, bytes) else operand
