"""`OptionContext`: a full set of option values that threads enter and leave."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast, overload

from optctx import _native
from optctx.context.args import parse_args
from optctx.context.binding import OnMismatch, bind
from optctx.context.deferred import refuse_deferred
from optctx.context.misuse import ContextType, checked_mapping, no_attribute, wrong_lookup
from optctx.context.override import Override, make_override
from optctx.context.scopable import ProcessWideMode, scopable
from optctx.context.scope import cannot_enter, cannot_leave, check_in_line, follow_tasks, innermost
from optctx.context.stamped import agreed, stamped_overrides
from optctx.context.state import Base, Contents, rebuild, resolve_base
from optctx.context.text import Texts, texts_of
from optctx.context.unread import UnreadMode, check_mode, judge, marks
from optctx.engine.attach import Engine, attach, attached
from optctx.engine.plan import PlannedOption
from optctx.errors import OptionTypeError
from optctx.registry.registry import find
from optctx.registry.values import Value, python_types, read_value
from optctx.trust import trusting

if TYPE_CHECKING:
    from llvmlite.binding import ModuleRef
    from llvmlite.binding.context import ContextRef

__all__ = ["OptionContext"]

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class OptionContext(_native.ScopeBase, Mapping[str, Value], metaclass=ContextType):
    """Values for all of LLVM's options, some of them overridden; in force in a thread that enters it.

    `overrides` maps option names to Python values or command-line text; keywords do the same, with `_` for
    `-`. `base` says what holds for every other option: "inherit" (the context this thread is in now, or the
    process-wide values of this moment), "defaults" (what was registered, whatever anybody set since), or
    another OptionContext. LLVM's own parsers judge every value.

    Immutable, comparable, hashable, picklable. Entering reaches this task only, and LLVM code that it runs:
    the thread, and what copies its contextvars (`asyncio.to_thread`, tasks made inside). Threads and pools
    begin with the process-wide values (but see `wrap`, `propagating`, and Python's `thread_inherit_context`,
    which is on by default where Python has no GIL).
    One context may be entered by many threads at once and again by the same thread. What others set
    process-wide meanwhile does not reach a thread inside, and what LLVM itself writes to options inside a
    scope is gone when it is left.

    Before Python 3.14 a scope must not be held across an `await`: while its task is suspended, entering a
    context, compiling and asking for the current one raise ScopeError in other tasks of the thread.

    Options that cannot be set per thread are refused, unless `process_wide` is "exclusive": then entering
    waits until no other thread is inside a context or a compilation of optctx, changes them for the whole
    process, and leaving puts them back exactly. Threads with the same changes share; other threads wait to
    enter until they are undone. Threads that compile past optctx are not held up, and see the changes.

    LLVM reads some options when PipelineTuningOptions are made, not when a pass runs: make them inside the
    scope. A TargetMachine may be made anywhere: what LLVM builds for it belongs to the values in force when
    it is used.

    `unread` says what happens to overrides that LLVM did not read at all when the last scope of this context
    is left, on whichever thread, and its last binding is ended (`unbind`): "ignore", "warn"
    (UnreadOptionWarning) or "error" (UnreadOptionError, unless the block fails anyway), with the likely
    cause. Reads in scopes inside it count, too, as far as they see the override; options that are set for the
    whole process are not judged.

    All of this is so where `info()["engine"]` is "thread". Where it is "exclusive" (LLVM's code cannot be
    changed, or OPTCTX_ENGINE says so) the same values reach LLVM, but entering waits while threads with other
    values are inside a context, or any thread inside a compilation of optctx: do not wait inside for a thread
    that wants other values. Threads with the same values share, and share what LLVM writes to options. What
    is set process-wide meanwhile reaches the scope and is undone with it, and code that compiles past
    optctx, outside any scope, sees the values of whoever is inside. Scopes must not be held across an `await`
    on any version of Python, and in a copied context llvmlite's calls see the scope only if its turn is free.

    Raises UnknownOptionError, OptionTypeError, OptionValueError and ProcessWideOptionError, with nothing
    changed; UnsupportedImageError where there is no LLVM that can be used.
    """

    __slots__ = ("__weakref__", "_contents", "_engine", "_parent", "_unread")

    def __init__(
        self,
        overrides: Mapping[str, object] | None = None,
        /,
        *,
        base: Base = "inherit",
        process_wide: ProcessWideMode = "refuse",
        unread: UnreadMode = "ignore",
        **named: object,
    ) -> None:
        engine = attach()
        given: dict[str, object] = {} if overrides is None else dict(checked_mapping(overrides))
        for name, value in named.items():
            given[name if name in engine.options else name.replace("_", "-")] = value
        made = []
        for name, value in given.items():
            texts = texts_of(scopable(engine, name, process_wide), name, value)
            made.append(make_override(engine, name, texts, process_wide))
        parent = _parent(base)
        self._set(engine, resolve_base(engine, base, parent), made, parent, unread)

    def _set(
        self,
        engine: Engine,
        base: Contents,
        made: Iterable[Override],
        parent: OptionContext | None = None,
        unread: UnreadMode = "ignore",
    ) -> None:
        """Fills a new object: `made` on top of everything that `base` has, which is of `parent`, if any."""
        check_mode(unread)
        self._engine = engine
        self._unread = unread
        inherited = {**base.inherited, **base.own}
        self._contents = Contents(
            base.drift, inherited, {override.option.record.name: override for override in made}
        )
        own = self._contents.own.values()
        native = self._contents.native(engine, marks(engine, unread, parent, own))
        self._give(native, unread != "ignore")
        self._parent = parent if self._native.reads is not None else None
        follow_tasks(engine)

    @classmethod
    def from_args(
        cls,
        args: Iterable[str] | str,
        *,
        base: Base = "inherit",
        process_wide: ProcessWideMode = "refuse",
        unread: UnreadMode = "ignore",
    ) -> OptionContext:
        """A context from a command line, such as ["-unroll-count=4", "-enable-gvn-hoist"] or one string.

        As `opt` reads it: `-name=value`, `--name=value`, `-name value` where a value is required, `-name`.
        Raises what the constructor raises.
        """
        engine = attach()
        parsed = parse_args(engine, args, process_wide)
        made = [make_override(engine, name, texts, process_wide) for name, texts in parsed.items()]
        return cls._on_top(engine, base, made, unread)

    @classmethod
    def _on_top(
        cls, engine: Engine, base: Base, made: Iterable[Override], unread: UnreadMode = "ignore"
    ) -> OptionContext:
        parent = _parent(base)
        return cls._from(engine, resolve_base(engine, base, parent), made, parent, unread)

    @classmethod
    def _from(
        cls,
        engine: Engine,
        base: Contents,
        made: Iterable[Override],
        parent: OptionContext | None = None,
        unread: UnreadMode = "ignore",
    ) -> OptionContext:
        context = cls.__new__(cls)
        context._set(engine, base, made, parent, unread)
        return context

    @classmethod
    def from_module(
        cls,
        module: ModuleRef,
        *,
        process_wide: ProcessWideMode = "refuse",
        trust: Iterable[str] = ("tuning",),
    ) -> OptionContext:
        """The options that a module was compiled with, as `optctx.stamp` wrote them into it.

        Everything that it does not name is as registered. A linked module has the stamps of all the modules
        that it was made of, which must agree. Changes nothing.

        `trust`: classes of options (`Option.trust`) that are accepted, and names of single options, with any
        value. By default only what changes nothing but the generated code, because a module may be anybody's.

        Raises OptctxError for a module that is closed, unstamped or stamped by others, TypeError for what is
        none, LinkMismatchError where stamps contradict each other; UntrustedOptionError, UnknownOptionError
        and OptionValueError, with the module's name, for what is not accepted or what this LLVM does not
        take; ProcessWideOptionError for options that cannot be set per thread, unless `process_wide` is
        "exclusive", as in the constructor.
        """
        engine = attach()
        base = resolve_base(engine, "defaults", None)
        found = stamped_overrides(engine, module, process_wide, trusting(engine, trust))
        return agreed([(stamp, cls._from(engine, base, made)) for stamp, made in found])

    def derive(
        self,
        overrides: Mapping[str, object] | None = None,
        /,
        *,
        process_wide: ProcessWideMode = "refuse",
        unread: UnreadMode | None = None,
        **named: object,
    ) -> OptionContext:
        """A copy with changes: this context's overrides, and these on top. Raises as the constructor does.

        Unread overrides are treated as this context treats them, unless `unread` says otherwise.
        """
        changed = OptionContext(overrides, base=self, process_wide=process_wide, unread="ignore", **named)
        own = {**self._contents.own, **changed._contents.own}
        base = Contents(self._contents.drift, self._contents.inherited, {})
        mode = self._unread if unread is None else unread
        return self._from(self._engine, base, own.values(), self._parent, mode)

    def diff(self, other: OptionContext) -> dict[str, tuple[Value, Value]]:
        """Name -> (value here, value there) for every option in which the two differ."""
        if not isinstance(other, OptionContext):
            raise OptionTypeError(f"diff takes another OptionContext, found {type(other).__name__}")
        names = sorted(self._contents.names(self._engine) | other._contents.names(other._engine))
        return {name: (self[name], other[name]) for name in names if self._state(name) != other._state(name)}

    def bind(self, llvm_context: ContextRef, on_mismatch: OnMismatch = "switch") -> None:
        """Makes this context travel with an LLVMContext, the global one included.

        From now on LLVM code that runs on a module of that LLVMContext sees these values, on any thread and
        with no scope in sight: new and legacy pass managers, emission through a TargetMachine, MCJIT and
        ORC, whoever calls them. Each run switches over and back; the scope of the thread is not touched.
        The binding lasts until `unbind`, or until the LLVMContext is disposed of.

        With `on_mismatch` "error", a run under a scope with other values raises ContextMismatchError before
        any pass has run; with "warn" it goes on under the scope of the thread, with a
        ContextMismatchWarning.

        PipelineTuningOptions see the scope of the thread that makes them. llvmlite's LLJIT gets a module as
        text (`JITLibraryBuilder.add_ir(module)`), which it parses into an LLVMContext of its own: what is
        bound when the module is added goes with it, to stay. Text that was made of the module elsewhere
        (`add_ir(str(module))`) has no binding.

        Raises TypeError for anything that is not llvmlite's, OptctxError for a closed LLVMContext,
        ScopeError if it is bound already, ProcessWideOptionError for a context that changes the whole
        process, UnsupportedImageError where threads take turns (`optctx.info()["engine"]`).
        """
        bind(attach(), self, llvm_context, on_mismatch)

    # N1: lookups

    def __getitem__(self, name: str) -> Value:
        return self._read(self._engine.resolve(find(self._engine, name)))

    @overload  # type: ignore[override]
    def get(self, name: str) -> Value: ...
    @overload
    def get(self, name: str, type: type[T]) -> T: ...
    def get(self, name: str, type: type[Any] | None = None) -> Any:
        """The value of an option; with `type`, only if that is the option's own type.

        Raises UnknownOptionError, and OptionTypeError where the option is of another type.
        """
        option = self._engine.resolve(find(self._engine, name))
        if type is not None and type not in python_types(option.record.type):
            raise wrong_lookup(option, name, type)
        return self._read(option)

    if not TYPE_CHECKING:  # where every other name stays an error

        def __getattr__(self, name: str) -> Any:
            """Raises AttributeError; says how to look up the option that may have been meant."""
            raise no_attribute(self, name)

    def __contains__(self, name: object) -> bool:
        return name in self._engine.options

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._engine.options))

    def __len__(self) -> int:
        return len(self._engine.options)

    @property
    def overrides(self) -> Mapping[str, Value]:
        """The options that this context itself sets, on top of its base."""
        own = self._contents.own
        return MappingProxyType({override.name: override.value(self._engine) for override in own.values()})

    def args(self) -> list[str]:
        """The overrides as a command line."""
        return [arg for override in self._contents.own.values() for arg in override.args()]

    def _read(self, option: PlannedOption) -> Value:
        record, offset = option.record, self._engine.survey.value_offset
        name = record.name
        override = self._contents.own.get(name) or self._contents.inherited.get(name)
        if override is not None:
            return override.value(self._engine)
        if option.slot is None or option.scope == "process":  # the same for every context: LLVM's own
            return read_value(option, record.variable or record.address + offset)
        if record.type.external:
            return read_value(option, self._native.address(option.variable_slot))
        return read_value(option, self._native.address(option.slot) + offset)

    def _state(self, name: str) -> tuple[object, bool]:
        """Everything that LLVM can tell of an option here: (value, whether it was given)."""
        option = self._engine.resolve(find(self._engine, name))
        value = _frozen(self._read(option))
        if option.slot is None:
            return value, name in {**self._contents.inherited, **self._contents.own}
        return value, _native.option_at(self._native.address(option.slot)).occurrences != 0

    def _key(self) -> tuple[str, frozenset[tuple[str, object]]]:
        """What two equal contexts have in common: the library, and every option that is not as registered."""
        registered = OptionContext._from(self._engine, resolve_base(self._engine, "defaults", None), ())
        names = self._contents.names(self._engine)
        states = ((name, self._state(name)) for name in names)
        return self._engine.image.build_id, frozenset(s for s in states if s[1] != registered._state(s[0]))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OptionContext):
            return NotImplemented
        return self is other or self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"OptionContext({dict(self.overrides)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        inherited, own = self._contents.portable(self._engine)
        return _restore, (inherited, own, self._unread)

    # Scopes

    def run(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Calls the function inside this context, in this thread."""
        return cast("R", self._run(function, args, kwargs))

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """As a decorator: every call of the function runs inside this context.

        Raises OptionTypeError for a generator or coroutine function, whose body runs after the call is over.
        """
        refuse_deferred(function)

        @functools.wraps(function)
        def inside(*args: P.args, **kwargs: P.kwargs) -> R:
            return cast("R", self._run(function, args, kwargs))

        return inside


def _parent(base: Base) -> OptionContext | None:
    """The context that a new one has values from, if any."""
    if isinstance(base, OptionContext):
        return base
    return innermost("inherit from the current context") if base == "inherit" else None


def _restore(
    inherited: dict[str, Texts], own: dict[str, Texts], unread: UnreadMode = "ignore"
) -> OptionContext:
    """What unpickling calls: the registered defaults, then what was inherited, then the overrides."""
    engine = attached() or attach()
    base, made = rebuild(engine, inherited, own)
    return OptionContext._from(engine, base, made, None, unread)


def _frozen(value: Value) -> object:
    """The value as a hashable object that equals itself: a NaN does not."""
    if isinstance(value, list):
        return tuple(_frozen(item) for item in value)
    return value.hex() if isinstance(value, float) else value


# What `with` does beyond its native step; each before anything has changed, or after everything has.


def _check_in_line(context: OptionContext | None, verb: str) -> None:
    check_in_line(verb if context is None else f"{verb} {context!r}")


def _judge(context: OptionContext, failed: bool) -> None:
    judge(context, context._unread, failed=failed)


_native.set_scope_helpers(attach, _check_in_line, cannot_enter, cannot_leave, _judge)
