"""`stamp` writes into a module what it was compiled with; `check_link` compares modules to be linked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from optctx.context.context import OptionContext
from optctx.engine.attach import attach
from optctx.engine.engine import Engine
from optctx.errors import OptctxError, OptionTypeError, clipped, shown
from optctx.image.loaded import Image
from optctx.travelling.stamps import module_identifier, module_label, read_stamps, write_stamp
from optctx.values.layers import Layers
from optctx.values.texts import Texts, text_form
from optctx.wording import columns


def stamp(module: object, ctx: OptionContext) -> None:
    """Write the options of a context into a module, for `OptionContext.from_module` and `check_link`.

    The named metadata `!optctx.options` holds, as command-line text, every option in which the context
    differs from what LLVM registered. Bitcode, textual IR, LLVM's linker and its passes preserve it, and it
    changes no code. A context without changes leaves a stamp as well. The stamp replaces all earlier stamps
    of the module. `module`: one of the context's LLVM, as in `OptionContext.from_module`.

    Reaches only the module. During the call, no other thread may use its LLVMContext except through llvmlite.

    Raises:
        TypeError: `module` is not a module.
        OptctxError: The module is closed.
        OptionTypeError: `ctx` is not an OptionContext.
        OptionValueError: The context inherits a process-wide value without a text form.
        UnsupportedImageError: The library lacks a function that this needs. On each error the module is
            unchanged.
    """
    if not isinstance(ctx, OptionContext):
        raise OptionTypeError(f"a module is stamped with an OptionContext, found {shown(ctx)}")
    write_stamp(ctx._layers.engine.image, module, _texts(ctx._layers))


def _texts(layers: Layers) -> dict[str, Texts]:
    """Write every option that is not as registered. Equal values have equal texts.

    Raises OptionValueError for a value without a text form.
    """
    found = {}
    for given_as, texts in layers.flat().items():
        option = layers.option(given_as)
        form = text_form(option, layers.read(option))
        name, written = form if form is not None and form[1] else (option.name, texts)
        found[name] = written
    return found


_MOST_STATES = 1 << 23  # options times stamps; a report names each stamp for each option that differs
_LINK_STEP = "the link step"


class Mismatch(NamedTuple):
    """An option whose values differ between modules.

    `said`: pairs of (its value as on a command line, or "not given"; the modules with it). It begins with the
    value in the first module.
    """

    option: str
    said: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class LinkReport:
    """The mismatches of a link, in order of option. `bool()` is true if there are any; `str()` is a table.

    `unstamped` names the modules without a stamp, whose options are unknown. They make the report true only
    if `stamps_required`.
    """

    mismatches: tuple[Mismatch, ...]
    unstamped: tuple[str, ...]
    stamped: tuple[str, ...]
    stamps_required: bool = False

    def __iter__(self) -> Iterator[Mismatch]:
        return iter(self.mismatches)

    def __bool__(self) -> bool:
        return bool(self.mismatches) or (self.stamps_required and bool(self.unstamped))

    def __str__(self) -> str:
        rows = [
            ("" if number else option, value, ", ".join(modules))  # only its first row names an option
            for option, said in self.mismatches
            for number, (value, modules) in enumerate(said)
        ]
        lines = columns(rows) if rows else [f"no option differs among {len(self.stamped)} stamped"]
        if self.unstamped:
            lines.append(f"unstamped: {', '.join(self.unstamped)}")
        return "\n".join(lines)


def check_link(
    modules: Iterable[object],
    ctx: OptionContext | None = None,
    *,
    require_stamps: bool = False,
    image: Image | None = None,
) -> LinkReport:
    """Compare the options that modules were compiled with, and those of the link step if `ctx` is given.

    What a module was compiled with is what `stamp` wrote into it.

    Two modules differ in an option if LLVM could tell: by the value, or because only one of them was given
    the option. A linked module takes part with all its stamps. Options are compared as text, so this LLVM
    need not have them. Changes nothing.

    Args:
        modules: Modules of llvmlite's, or of another LLVM by their addresses, as in `optctx.bound`.
        ctx: The context of the link step.
        require_stamps: Count a module without a stamp as a mismatch. The report names it in any case.
        image: Which LLVM the modules belong to, from `loaded_image`; None means llvmlite's.

    Raises:
        TypeError: An element of `modules` is not a module.
        OptctxError: A module is closed, or has a stamp that nothing here writes. Or the modules have too many
            different options. Or `ctx` has a value without a text form.
        OptionTypeError: Another argument is wrong.
    """
    engine = attach(image)
    if ctx is not None and not isinstance(ctx, OptionContext):
        raise OptionTypeError(f"the link step has an OptionContext or None, found {shown(ctx)}")
    if isinstance(modules, str) or not isinstance(modules, Iterable):
        raise OptionTypeError(f"check_link takes modules in a list or the like, found {shown(modules)}")
    sources, unstamped = _sources(engine, modules)
    stamped = tuple(sources)
    if ctx is not None:
        sources[_LINK_STEP] = _by_own_name(engine, _texts(ctx._layers))
    return LinkReport(tuple(_mismatches(sources)), tuple(unstamped), stamped, require_stamps)


_Said = Mapping[str, tuple[str, ...]]  # the words of each option


def _sources(engine: Engine, modules: Iterable[object]) -> tuple[dict[str, _Said], list[str]]:
    """Return (what each stamp says, by its label; labels of modules without one)."""
    image = engine.image
    sources: dict[str, _Said] = {}
    unstamped: list[str] = []
    labels: set[str] = set()
    for number, module in enumerate(modules, 1):
        name = module_identifier(image, module)
        found = read_stamps(image, module)
        stamps = {(stamp.producer, tuple(stamp.options.items())): stamp for stamp in found}
        if not stamps:
            label = module_label(image, module) or f"module {number}"
            unstamped.append(_unused(labels, label, f"module {number}"))
        for place, stamp in enumerate(stamps.values(), 1):
            apart = f"module {number}" if len(stamps) == 1 else f"module {number}, stamp {place}"
            label = _unused(labels, _label(name, stamp.producer) or apart, apart)
            sources[label] = _by_own_name(engine, stamp.options)
    return sources, unstamped


def _by_own_name(engine: Engine, options: Mapping[str, Texts]) -> _Said:
    """Return what options were given. Several names, such as literal choices, can be of one option."""
    found: dict[str, tuple[str, ...]] = {}
    for name, texts in options.items():
        known = engine.options.get(name)
        own = engine.resolve(known).name if known else name
        words = (name if text is None else text for text in texts)
        if texts:  # else it is a list that was not given
            found[own] = (*found.get(own, ()), *words)
    return found


def _label(name: str, producer: str) -> str:
    """Return the label of a stamp in a report: its module, and the stamped part if its name differs."""
    return f"{name} ({producer})" if name and producer and name != producer else name or producer


def _unused(labels: set[str], label: str, apart: str) -> str:
    """Make a label unique, by adding `apart` if it is taken."""
    if label in labels:
        label = f"{label} ({apart})"
    labels.add(label)
    return label


def _mismatches(sources: Mapping[str, _Said]) -> Iterator[Mismatch]:
    names = {name for said in sources.values() for name in said}
    if len(names) * len(sources) > _MOST_STATES:
        raise OptctxError(
            f"cannot compare {len(names):,} options of {len(sources):,} stamps: at most "
            f"{_MOST_STATES:,} states are compared; check the modules in parts"
        )
    for name in sorted(names):
        groups: dict[tuple[str, ...] | None, list[str]] = {}
        for label, said in sources.items():
            groups.setdefault(said.get(name), []).append(label)
        if len(groups) > 1:
            yield Mismatch(name, tuple((_value(words), tuple(own)) for words, own in groups.items()))


def _value(words: tuple[str, ...] | None) -> str:
    return "not given" if words is None else clipped(", ".join(words)) or "''"
