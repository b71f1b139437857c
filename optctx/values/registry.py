"""Registered options as values to look at, the mapping from names to them, and errors for other names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from optctx._native import Kind, demangle, option_at
from optctx.engine.attach import attach
from optctx.engine.engine import Engine
from optctx.engine.host import host_of
from optctx.errors import UnknownOptionError, clipped, shown
from optctx.image.abi import type_name
from optctx.image.loaded import Image
from optctx.image.options import RegisteredOption
from optctx.image.registry_reader import registered_elsewhere
from optctx.values.foreign import advice_for
from optctx.values.read_values import Value, read_default, read_value
from optctx.values.texts import plain
from optctx.values.trust import TrustClass, judgement_of
from optctx.wording import did_you_mean, html_table, nearest

_HIDDEN = ("not", "hidden", "really")


class Option:
    """What LLVM registered under `name`. Reading it changes nothing and ignores the scope of the thread."""

    # A view, made on demand, of a RegisteredOption: design/options.md says why.
    __slots__ = ("_engine", "_option", "name")

    def __init__(self, engine: Engine, option: RegisteredOption, name: str) -> None:
        self._engine = engine
        self._option = option
        self.name = name

    def __repr__(self) -> str:
        return f"<Option {self.name}: {self.type} = {self.value!r}, scope {self.scope}>"

    @property
    def type(self) -> str:
        """One of bool, boolOrDefault, int, uint, int64, uint64, float, double, char, string, enum, list,
        bits and other.
        """
        return type_name(self._target.type.kind)

    @property
    def default(self) -> Value:
        """The registered value (`cl::init`), independent of later changes.

        None for a list that contexts cannot hold, once it was given: LLVM keeps no other copy.
        """
        target = self._target
        engine = self._engine
        if target.type.kind not in (Kind.list, Kind.bits):
            return read_default(target)
        if target.slot is not None:
            return read_value(target, target.value_in(engine.space.default_address))
        return self.value if self.occurrences == 0 else None

    @property
    def value(self) -> Value:
        """The process-wide value now, independent of the scope of this thread."""
        return read_value(self._target, self._target.place.address)

    @property
    def occurrences(self) -> int:
        """How often the option was given process-wide."""
        return option_at(self._target.address).occurrences

    @property
    def help(self) -> str:
        """LLVM's one-line description."""
        return option_at(self._option.address).help

    @property
    def choices(self) -> dict[str, str]:
        """Choice -> LLVM's description of it, for an enum, and for bits or a list of enums."""
        choices = self._target.choices
        return {} if choices is None else {name: text for name, text, _ in choices.read()}

    @property
    def alias_of(self) -> str | None:
        """The name of the option that this one stands for."""
        return self._target.name if self._option.alias_of else None

    @property
    def aliases(self) -> tuple[str, ...]:
        """Other names under which the same option can be given."""
        target = self._target
        names = {*target.names, *self._engine.aliases.get(target.address, ())}
        return tuple(sorted(names - {self.name}))

    @property
    def categories(self) -> tuple[str, ...]:
        """Names of the categories under which LLVM lists it."""
        return tuple(option_at(self._option.address).categories)

    @property
    def hidden(self) -> str:
        """ "not" (shown by -help), "hidden" (by -help-hidden) or "really"."""
        return _HIDDEN[min(option_at(self._option.address).hidden, 2)]

    @property
    def storage(self) -> str:
        """Where the value is: internal (in the Option), external (where `cl::location` points) or heap."""
        option = self._target
        if option.size is None:
            return "heap"
        return "external" if option.type.external else "internal"

    @property
    def scope(self) -> str:
        """thread: a context can set it. process: it cannot, see `reason`. unread: this library does not read
        it.
        """
        return self._target.scope

    @property
    def reason(self) -> str:
        """Why the option cannot be set per thread, or an empty string."""
        return self._target.reason

    @property
    def trust(self) -> TrustClass:
        """What the option can do apart from changing generated code: tuning, output, input, code or process.

        By default, modules (attributes, stamps) can set only options of the class tuning. `SECURITY.md`
        defines the classes.
        """
        return judgement_of(self._target).trust

    @property
    def trust_reason(self) -> str:
        """Why the option is in its class."""
        return judgement_of(self._target).reason

    @property
    def trusted_values(self) -> str:
        """The values for which the class holds, such as "0..1000" or "1|2|4"; empty for all values."""
        return judgement_of(self._target).values

    @property
    def read_by(self) -> tuple[str, ...]:
        """The functions of this library that read the option, demangled."""
        return tuple(dict.fromkeys(demangle(name) for name in self._target.readers))

    @property
    def _target(self) -> RegisteredOption:
        return self._engine.resolve(self._option)


class Registry(Mapping[str, Option]):
    """Every option of an LLVM in this process, by name without the leading hyphen."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __getitem__(self, name: str) -> Option:
        return Option(self._engine, find(self._engine, name), name)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._engine.options

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._engine.options))

    def __len__(self) -> int:
        return len(self._engine.options)

    def _repr_html_(self) -> str:
        headings = ("option", "type", "value", "scope", "help")
        rows = ((each.name, each.type, str(each.value), each.scope, each.help) for each in self.values())
        return html_table(f"Options of {self._engine.image.path}", headings, rows, len(self))

    def __repr__(self) -> str:
        return f"<Registry of {len(self)} options, {self._engine.image.path}>"


def registry(image: Image | None = None) -> Registry:
    """List every option of an LLVM in this process (N0). Attaches at first use.

    `image`: which LLVM, from `loaded_image`; None means llvmlite's.

    Raises:
        UnsupportedImageError: The process has no LLVM, or its layout does not check out.
        OptionTypeError: `image` is not an image.
    """
    return Registry(attach(image))


def find(engine: Engine, name: str) -> RegisteredOption:
    """Return the option called `name`. Raises UnknownOptionError as `unknown` words it."""
    name = cast("str", plain(name))
    option = engine.options.get(name) if isinstance(name, str) else None
    if option is None:
        raise unknown(engine, name)
    return option


def unknown(engine: Engine, name: object) -> UnknownOptionError:
    """Make the error for a name that is not registered: where it belongs, or the nearest names."""
    if not isinstance(name, str):
        return UnknownOptionError(
            f"an option name is a string, found {shown(name)} of type {type(name).__name__}", shown(name)
        )
    library = engine.image.path.rsplit("/", 1)[-1]
    if where := registered_elsewhere(engine.image, engine.survey.registry, name):
        return UnknownOptionError(
            f"{shown(name)} is no option of {library}: {where} registered it, and optctx redirects only the "
            f"reads of LLVM's own code; set it for the whole process, with "
            f"{host_of(engine.image).setter.format(clipped(name))}",
            name,
        )
    if advice := advice_for(engine.image, name):
        return UnknownOptionError(f"no LLVM option is called {shown(name)}: {advice}", name)
    bare = name.lstrip("-").replace("_", "-")
    near = [bare] if bare in engine.options else nearest(bare, engine.options)
    hint = did_you_mean(near) or "`optctx options` shows every name"
    return UnknownOptionError(
        f"no LLVM option is called {shown(name)} among the {len(engine.options)} of {library}; {hint}",
        name,
        tuple(near),
    )
