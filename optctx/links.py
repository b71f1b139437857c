"""`stamp` writes into a module what it was compiled with; `check_link` compares modules to be linked."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from optctx.context.context import OptionContext
from optctx.engine.attach import attach
from optctx.engine.engine import Engine
from optctx.errors import LinkMismatchError, OptctxError, OptionTypeError, shown
from optctx.image.loaded import Image
from optctx.travelling.stamps import (
    Stamp,
    in_words,
    module_identifier,
    module_label,
    read_stamps,
    stamped_override,
    write_stamp,
)
from optctx.values.layers import Layers
from optctx.values.read_values import Value
from optctx.values.texts import Texts
from optctx.wording import columns, counted, first_few


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
    write_stamp(ctx._layers.engine.image, module, ctx._layers.flat())


_LONGEST = 1024  # characters of a value that is parsed only to be compared
_SHOWN = 5  # mismatches that a message lists
_MOST_STATES = 1 << 23  # options times stamps; a report names each stamp for each option that differs


@dataclass(frozen=True)
class Said:
    """The value of an option in modules that agree on it."""

    value: Value  # as command-line text if this LLVM does not accept it; None if it does not know the option
    given: bool  # LLVM can tell a default that was given from one that was not
    modules: tuple[str, ...]

    def __str__(self) -> str:
        if self.value is None:
            return "given" if self.given else "not given"
        return in_words(self.value, self.given)


@dataclass(frozen=True)
class Mismatch:
    """An option whose values differ between modules. `said` begins with the value in the first module."""

    option: str
    known: bool  # to the LLVM of this process
    said: tuple[Said, ...]

    def __str__(self) -> str:
        words = (f"{each} in {first_few(each.modules)}" for each in self.said)
        return f"{self.option!r} is {' but '.join(words)}"


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
        lines = columns(self.rows()) if self.mismatches else [self.summary()]
        if self.unstamped:
            lines.append(f"unstamped: {', '.join(self.unstamped)}")
        return "\n".join(lines)

    def rows(self) -> list[tuple[str, str, str]]:
        """Return rows of (option, value, modules with that value). Only an option's first row names it."""
        rows = []
        for mismatch in self.mismatches:
            name = mismatch.option if mismatch.known else f"{mismatch.option} (unknown here)"
            for number, said in enumerate(mismatch.said):
                rows.append(("" if number else name, str(said), ", ".join(said.modules)))
        return rows

    def summary(self) -> str:
        """Say in one line how many options differ among how many modules."""
        count = len(self.mismatches)
        options = counted(count, "option differs", "options differ") if count else "no option differs"
        return f"{options} among {len(self.stamped)} stamped"

    def words(self) -> str:
        """Return the words for an error: the first mismatches, and unstamped modules if they count."""
        found = [str(mismatch) for mismatch in self.mismatches[:_SHOWN]]
        if len(self.mismatches) > _SHOWN:
            more = counted(len(self.mismatches) - _SHOWN, "more option differs", "more options differ")
            found.append(more)
        if self.stamps_required and self.unstamped:
            found.append(f"no stamp in {first_few(self.unstamped)}")
        return "; ".join(found)


OnLinkMismatch = Literal["report", "error"]
_LINK_STEP = "the link step"


@dataclass(frozen=True)
class _Source:
    """One set of options to compare: a stamp, or the link step."""

    label: str
    layers: Layers  # of the options that this LLVM accepts
    refused: Mapping[str, Texts]  # the others, by the option's main name if this LLVM knows it


def check_link(
    modules: Iterable[object],
    ctx: OptionContext | None = None,
    *,
    on_mismatch: OnLinkMismatch = "report",
    require_stamps: bool = False,
    image: Image | None = None,
) -> LinkReport:
    """Compare the options that modules were compiled with, and those of the link step if `ctx` is given.

    What a module was compiled with is what `stamp` wrote into it.

    Two modules differ in an option if LLVM could tell: by the value, or because only one of them was given
    the option. A linked module takes part with all its stamps. Options and values that this LLVM does not
    have are compared as text. Changes nothing.

    Args:
        modules: Modules of llvmlite's, or of another LLVM by their addresses, as in `optctx.bound`.
        ctx: The context of the link step.
        on_mismatch: "report", or "error" to raise on a mismatch.
        require_stamps: Count a module without a stamp as a mismatch. The report names it in any case.
        image: Which LLVM the modules belong to, from `loaded_image`; None means llvmlite's.

    Raises:
        LinkMismatchError: A mismatch, if `on_mismatch` is "error".
        TypeError: An element of `modules` is not a module.
        OptctxError: A module is closed, or has a stamp that nothing here writes. Or the modules have too many
            different options.
        OptionTypeError: Another argument is wrong.
    """
    engine = attach(image)
    if on_mismatch not in ("report", "error"):
        raise OptionTypeError(f'on_mismatch is "report" or "error", found {shown(on_mismatch)}')
    if ctx is not None and not isinstance(ctx, OptionContext):
        raise OptionTypeError(f"the link step has an OptionContext or None, found {shown(ctx)}")
    if isinstance(modules, str) or not isinstance(modules, Iterable):
        raise OptionTypeError(f"check_link takes modules in a list or the like, found {shown(modules)}")
    sources, unstamped = _sources(engine, modules)
    stamped = tuple(source.label for source in sources)
    if ctx is not None:
        sources.append(_Source(_LINK_STEP, ctx._layers, {}))
    found = tuple(_mismatches(engine, sources))
    report = LinkReport(found, tuple(unstamped), stamped, require_stamps)
    if report and on_mismatch == "error":
        raise LinkMismatchError(
            f"cannot link with the same options everywhere: {report.words()}; compile the modules, and run "
            "the link step, with the same options"
        )
    return report


def _sources(engine: Engine, modules: Iterable[object]) -> tuple[list[_Source], list[str]]:
    """Return (what all modules say, labels of those that say nothing)."""
    image = engine.image
    sources, unstamped = [], []
    labels: set[str] = set()
    read: dict[Hashable, tuple[Layers, dict[str, Texts]]] = {}  # many modules have the same options
    for number, module in enumerate(modules, 1):
        name = module_identifier(image, module)
        found = read_stamps(image, module)
        stamps = {(stamp.producer, tuple(stamp.options.items())): stamp for stamp in found}
        if not stamps:
            label = module_label(image, module) or f"module {number}"
            unstamped.append(_unused(labels, label, f"module {number}"))
        for place, ((producer, options), stamp) in enumerate(stamps.items(), 1):
            if options not in read:
                read[options] = _taken(engine, stamp)
            apart = f"module {number}" if len(stamps) == 1 else f"module {number}, stamp {place}"
            label = _unused(labels, _label(name, producer) or apart, apart)
            sources.append(_Source(label, *read[options]))
    return sources, unstamped


def _label(name: str, producer: str) -> str:
    """Return the label of a stamp in a report: its module, and the stamped part if its name differs."""
    return f"{name} ({producer})" if name and producer and name != producer else name or producer


def _unused(labels: set[str], label: str, apart: str) -> str:
    """Make a label unique, by adding `apart` if it is taken."""
    if label in labels:
        label = f"{label} ({apart})"
    labels.add(label)
    return label


def _mismatches(engine: Engine, sources: Sequence[_Source]) -> Iterator[Mismatch]:
    names: set[str] = set()
    for source in sources:
        names |= source.layers.names() | source.refused.keys()
    if len(names) * len(sources) > _MOST_STATES:
        raise OptctxError(
            f"cannot compare {len(names):,} options of {len(sources):,} stamps: at most "
            f"{_MOST_STATES:,} states are compared; check the modules in parts"
        )
    for name in sorted(names):
        groups: dict[Hashable, list[_Source]] = {}
        states: dict[int, Hashable] = {}  # stamps with the same options share their layers
        for source in sources:
            layers = id(source.layers)
            if layers not in states:
                states[layers] = _state(engine, source, name)
            groups.setdefault(states[layers], []).append(source)
        if len(groups) > 1:
            said = (_said(engine, group, name) for group in groups.values())
            yield Mismatch(name, name in engine.options, tuple(said))


def _state(engine: Engine, source: _Source, name: str) -> Hashable:
    """Return what the sources that agree on an option have in common."""
    if name in source.refused:
        return "text", source.refused[name]
    return source.layers.state(name) if name in engine.options else None


def _said(engine: Engine, group: Sequence[_Source], name: str) -> Said:
    """Return the state of an option in sources that agree on it."""
    source = group[0]
    labels = tuple(each.label for each in group)
    if name in source.refused:
        texts = source.refused[name]
        return Said(list(texts) if len(texts) > 1 else next(iter(texts), None), True, labels)
    if name not in engine.options:
        return Said(None, False, labels)
    return Said(source.layers.look_up(name), source.layers.state(name).given, labels)


def _taken(engine: Engine, stamp: Stamp) -> tuple[Layers, dict[str, Texts]]:
    """Return layers of the options in a stamp that this LLVM accepts, and the other texts by name."""
    made, refused = [], {}
    for name, texts in stamp.options.items():
        known = engine.options.get(name)
        try:
            # An error for an unknown name suggests others, which takes long. LLVM never frees some texts.
            if known is None or max((len(text or "") for text in texts), default=0) > _LONGEST:
                raise OptctxError
            made.append(stamped_override(engine, name, texts))
        except OptctxError:
            refused[engine.resolve(known).name if known else name] = texts
    return Layers.registered(engine).on_top(made), refused
