"""`OptionContext`: a full set of option values that threads enter and leave."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from optctx import _native
from optctx.context import callbacks  # noqa: F401  native code calls them
from optctx.context.bases import Base, layers_of_base, seen_inside
from optctx.context.inputs import (
    check_lookup,
    decorated,
    named_values,
    refuse_deferred,
)
from optctx.engine.attach import attach, attached, is_default
from optctx.engine.engine import Engine
from optctx.errors import OptionTypeError, check_choice, shown
from optctx.image.loaded import Image
from optctx.reads.unread import UnreadMode, marks
from optctx.tasks.scopes import follow_tasks
from optctx.travelling.bindings import OnMismatch, bind
from optctx.travelling.option_files import read_options, write_options
from optctx.travelling.stamps import stamped_overrides, trusted_override
from optctx.values.args import parse_args
from optctx.values.layers import Layers, rebuild
from optctx.values.overrides import Override, make_override, scopable
from optctx.values.read_values import Value
from optctx.values.texts import Texts, texts_of
from optctx.values.trust import trusting

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class OptionContext(_native.ScopeBase, Mapping[str, Value]):
    """An immutable set of values for all of LLVM's options, in force on each thread that enters it.

    A context is comparable, hashable and picklable, and so is one of a subclass, with its attributes. Nothing
    that makes a context of a subclass calls its `__init__`. A changed context (`derive`, `with_sets`) has the
    class, but not the attributes. LLVM's own parsers judge every value. A context can be entered by many
    threads at once, and again by the thread that is inside it. Inside, a thread does not see process-wide
    changes that other threads make. Changes that LLVM itself makes to options inside end with the scope.
    Options that cannot be set per thread (`Option.scope` "process") are the exception: they have their
    process-wide values in it, whatever its base.

    Entering reaches the current task: its thread, and code that copies its contextvars (`asyncio.to_thread`,
    tasks made inside). Existing threads and pools keep the process-wide values (see `wrap` and
    `propagating`). On free-threaded Python, new threads start inside the scope of the thread that starts them
    (`thread_inherit_context`). Before Python 3.14, do not hold a scope across an `await`: other tasks of the
    thread get a ScopeError while the task that entered it is suspended.

    LLVM reads some options when PipelineTuningOptions are made: make them inside the scope. A TargetMachine
    can be made anywhere. LLVM's code for it follows the values in force where it is used.

    Args:
        overrides: Option name -> Python value, or its text on a command line. Keywords do the same, with `_`
            for `-`.
        base: The values of all other options. "inherit": those of the context that this thread is in, or the
            process-wide values of this moment. "defaults": the registered ones. Or another OptionContext.
            A context takes them when it is made, not when it is entered: `OptionContext(made.overrides)`
            inside a scope gives one that was made before to that scope.
        unread: What to do about overrides that LLVM did not read, when the last scope and the last binding of
            this context end: "ignore", "warn" (UnreadOptionWarning) or "error" (UnreadOptionError, unless the
            block fails anyway). Reads in nested scopes count if they see the override.
        image: Which LLVM, from `loaded_image`; None means that of `base`, or llvmlite's. Inside, other LLVMs
            of the process read what they read outside.

    Raises:
        UnknownOptionError, OptionTypeError, OptionValueError, ProcessWideOptionError: Nothing was changed.
        UnsupportedImageError: The process has no LLVM that optctx can use.
    """

    __slots__ = ("__weakref__", "_containing", "_layers", "_parent", "_unread")

    def __init__(
        self,
        overrides: Mapping[str, object] | None = None,
        /,
        *,
        base: Base = "inherit",
        unread: UnreadMode = "ignore",
        image: Image | None = None,
        **named: object,
    ) -> None:
        inherited = layers_of_base(base, image)
        made = _overrides(inherited.engine, overrides, named)
        self._fill(inherited.on_top(made), inherited, unread)

    def _fill(
        self,
        layers: Layers,
        parent: Layers | None,
        unread: UnreadMode = "ignore",
        new: Iterable[Override] | None = None,
    ) -> None:
        """Fill a new object with layers. Reads count for `parent` too, but not of `new` (None: all own)."""
        check_choice("unread", unread, UnreadMode)
        reads = marks(layers.engine, unread, parent, layers.own.values() if new is None else new)
        native = layers.make_native(reads)
        if not self._give(native, unread != "ignore"):
            raise OptionTypeError(
                f"cannot call __init__ of {shown(self)} again: a context never changes; make another one"
            )
        self._unread = unread
        self._containing = False  # made to contain what LLVM's setters are given
        self._layers = layers
        self._parent = None if reads is None else parent
        follow_tasks(layers.engine)

    @classmethod
    def from_args(
        cls,
        args: Iterable[str] | str,
        *,
        base: Base = "inherit",
        unread: UnreadMode = "ignore",
        image: Image | None = None,
        trust: Iterable[str] | None = None,
    ) -> OptionContext:
        """Make a context from a command line: a list, such as `["-unroll-count=4"]`, or a string.

        Accepts what `opt` accepts: `-name=value`, `--name=value`, `-name value` if a value is required, and
        `-name`. `trust`: what the arguments may set, as in `from_module`, if they come from an untrusted
        source; None accepts every option. Raises as the constructor does, and UntrustedOptionError.
        """
        inherited = layers_of_base(base, image)
        engine = inherited.engine
        if trust is None:
            parsed = parse_args(engine, args)
            made = [make_override(engine, name, texts) for name, texts in parsed.items()]
        else:
            judge = trusting(engine, trust)
            parsed = parse_args(engine, args, judge.check)
            made = [trusted_override(engine, *each, judge) for each in parsed.items()]
        return cls._of(inherited.on_top(made), inherited, unread)

    @classmethod
    def _of(cls, *arguments: Any, **keywords: Any) -> OptionContext:
        """Make a context without calling `__init__`. Takes what `_fill` takes."""
        context = cls.__new__(cls)
        context._fill(*arguments, **keywords)
        return context

    @classmethod
    def from_module(
        cls,
        module: object,
        *,
        trust: Iterable[str] = ("tuning",),
        image: Image | None = None,
    ) -> OptionContext:
        """Read the options that `optctx.stamp` wrote into a module.

        Options that the stamp does not name have their registered values. The stamps of a linked module, one
        for each of its parts, must agree. Changes nothing.

        Args:
            module: A module of llvmlite's, or for another LLVM its address, as in `bound`.
            trust: What the module may set: classes of options (`Option.trust`), and names of single options.
                The default accepts only options that change nothing but the generated code, because the
                module may come from an untrusted source.
            image: Which LLVM the module belongs to, as in the constructor.

        Raises:
            TypeError: `module` is not a module.
            OptctxError: The module is closed, has no stamp, or one of another producer.
            LinkMismatchError: The stamps contradict each other.
            UntrustedOptionError, UnknownOptionError, OptionValueError: The stamp names an option that is not
                trusted, or an option or value that this LLVM does not have.
            ProcessWideOptionError: The stamp names an option that cannot be set per thread.
        """
        engine = attach(image)
        base = Layers.registered(engine)
        return cls._of(base.on_top(stamped_overrides(engine, module, trusting(engine, trust))), base)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        base: Base = "inherit",
        trust: Iterable[str] = ("tuning",),
        image: Image | None = None,
    ) -> OptionContext:
        """Make a context from a file that `save` or `optctx tune` wrote. Changes nothing.

        Args:
            path: The file.
            base: The values of the options that the file does not name, as in the constructor.
            trust: What the file may set, as in `from_module`. The default accepts only options that change
                nothing but the generated code, because the file may come from an untrusted source.
            image: As in the constructor.

        Raises:
            OptctxError: The file cannot be read, or is another one.
            UntrustedOptionError, UnknownOptionError, OptionValueError: The file names an option that is not
                trusted, or an option or value that this LLVM does not have.
            ProcessWideOptionError: The file names an option that cannot be set per thread.
        """
        inherited = layers_of_base(base, image)
        made = read_options(inherited.engine, path, trusting(inherited.engine, trust))
        return cls._of(inherited.on_top(made), inherited)

    def save(self, path: str | os.PathLike[str], **about: str) -> None:
        """Write every option in which this context differs from what LLVM registered into a TOML file.

        The file is replaced as a whole. `about`: what else to write, such as `passes="default<O3>"`; `load`
        ignores it.

        Raises OptctxError if the file cannot be written, OptionTypeError for a name or value in `about` that
        the file cannot hold, OptionValueError for a value of an option without a text form.
        """
        write_options(path, self._layers.flat(), about)

    def derive(
        self,
        overrides: Mapping[str, object] | None = None,
        /,
        *,
        unread: UnreadMode | None = None,
        **named: object,
    ) -> OptionContext:
        """Make a copy with changes: the overrides of this context, and the given ones on top.

        `unread` is that of this context if it is None. Raises as the constructor does.
        """
        made = _overrides(attach(self._layers.engine.image), overrides, named)
        return self._again(made, self._unread if unread is None else unread)

    def _again(self, changes: Iterable[Override], unread: UnreadMode) -> OptionContext:
        """Make a context of the same layers, with changes on top."""
        made = self._of(self._layers.beside(changes), self._parent, unread)
        made._containing = self._containing
        return made

    def with_sets(self) -> OptionContext:
        """Make a context of what this thread sees inside this one: its values, and on top of them what code
        inside has given to LLVM's own setters since this thread entered it.

        What the setters were given counts as overrides. After a reset of all options, only what was given
        since is left. Call it inside.

        Raises ScopeError if this context is not the innermost one that this thread is inside.
        """
        return seen_inside(self)

    def diff(self, other: OptionContext) -> dict[str, tuple[Value, Value]]:
        """Compare two contexts: name -> (value here, value there) for each option in which they differ.

        Raises OptionTypeError if `other` is not an OptionContext.
        """
        if not isinstance(other, OptionContext):
            raise OptionTypeError(f"diff takes another OptionContext, found {type(other).__name__}")
        return {name: (self[name], other[name]) for name in self._layers.differing(other._layers)}

    def bind(self, llvm_context: object, on_mismatch: OnMismatch = "switch") -> None:
        """Let this context travel with an LLVMContext, which can be the global one.

        From now on LLVM code that runs on a module of that LLVMContext sees these values, on any thread and
        without a scope: pass managers, emission through a TargetMachine, MCJIT and ORC, through llvmlite or
        any other caller. Each run switches to the context and back. The scope of the thread is not touched.
        The binding lasts until `unbind`, or until the LLVMContext is disposed of.

        PipelineTuningOptions see the scope of the thread that makes them. LLJIT gets a module as text and
        parses it into an LLVMContext of its own. `JITLibraryBuilder.add_ir(module)` carries the binding over;
        text made from the module elsewhere (`add_ir(str(module))`) has none.

        Args:
            llvm_context: An LLVMContext of this context's LLVM: llvmlite's object, or for another LLVM its
                address, as in `bound`. A run there that cannot enter the context does nothing, and
                `sys.unraisablehook` gets the reason.
            on_mismatch: "switch" switches to this context. "error" checks instead: a run under a scope with
                other values raises ContextMismatchError before any pass has run. "warn" runs under the scope
                of the thread, with a ContextMismatchWarning.

        Raises:
            TypeError, OptctxError: As for `bound`.
            ScopeError: The LLVMContext is bound already.
            UnsupportedImageError: A check is asked for in an LLVM that the program calls itself, where optctx
                cannot raise anything. Or the library lacks what bindings take.
        """
        bind(self, llvm_context, on_mismatch)

    # N1: lookups

    def __getitem__(self, name: str) -> Value:
        return self._layers.look_up(name)

    @overload  # type: ignore[override]
    def get(self, name: str) -> Value: ...
    @overload
    def get(self, name: str, type: type[T]) -> T: ...
    def get(self, name: str, type: type[Any] | None = None) -> Any:
        """Return the value of an option; with `type`, only if it is the option's own type.

        Raises UnknownOptionError, and OptionTypeError if the option has another type.
        """
        if type.__class__ is object:  # from `match context:`, which gets it back if there is no such option
            return super().get(name, type)
        option = self._layers.option(name)
        if type is not None:
            check_lookup(option, name, type)
        return self._layers.read(option)

    if not TYPE_CHECKING:  # where every other name stays an error

        def __getattr__(self, name: str) -> Any:
            words = f"{type(self).__name__!r} object has no attribute {shown(name)}"
            raise AttributeError(f"{words}; look options up by name, such as context['unroll-count']")

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._layers.engine.options

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._layers.engine.options))

    def __len__(self) -> int:
        return len(self._layers.engine.options)

    def __bool__(self) -> bool:
        return True  # without counting the options

    @property
    def overrides(self) -> Mapping[str, Value]:
        """The options that this context itself sets, on top of its base."""
        return MappingProxyType({each.name: each.value() for each in self._layers.own.values()})

    def args(self) -> list[str]:
        """Return the overrides as command-line arguments."""
        return [arg for override in self._layers.own.values() for arg in override.args()]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OptionContext):
            return NotImplemented
        return self._layers == other._layers

    def __hash__(self) -> int:
        return hash(self._layers)

    def __repr__(self) -> str:
        return repr(self._layers)

    def __reduce__(self) -> tuple[Any, ...]:
        engine = self._layers.engine
        if not is_default(engine):
            raise OptionTypeError(
                f"cannot pickle {shown(self)}: it is for the LLVM of {engine.image.path}, and only a "
                "context for llvmlite's LLVM means the same in another process; make it again there"
            )
        return _restore, (*self._layers.portable(), self._unread, type(self)), _attributes(self) or None

    def __copy__(self) -> OptionContext:
        """Return the context itself, because it never changes. A copy of a subclass's is new."""
        if type(self) is OptionContext:
            return self
        made = self._again((), self._unread)
        _attributes(made).update(_attributes(self))
        return made

    def __deepcopy__(self, memo: dict[int, object]) -> OptionContext:
        if type(self) is OptionContext:
            return self
        memo[id(self)] = made = self._again((), self._unread)
        _attributes(made).update(copy.deepcopy(_attributes(self), memo))
        return made

    # Scopes. `__enter__` and `__exit__` are one native step each: `enter` and `leave` in
    # native/python/scope_block.cpp. What they call in Python is in callbacks.py.

    def run(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call a function inside this context, on this thread, and return its result.

        Raises OptionTypeError for a generator or coroutine function, whose body would run after the scope was
        left. A generator, coroutine or context manager that the function returns runs outside.
        """
        refuse_deferred(function)
        with self:
            return function(*args, **kwargs)

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Decorate a function: each call of it runs inside this context.

        A function that Numba compiles is compiled under this context instead, wherever it is called.

        Raises OptionTypeError for what `optctx.numba` or `run` refuse.
        """
        return decorated(self, function)


def _attributes(context: OptionContext) -> dict[str, Any]:
    """Return the attributes of a context of a subclass."""
    return getattr(context, "__dict__", {})


def _overrides(engine: Engine, overrides: object, named: Mapping[str, object]) -> list[Override]:
    """Make the overrides that a mapping and keywords ask for. Raises as the constructor does."""
    made = []
    for name, value in named_values(engine, overrides, named).items():
        texts = texts_of(scopable(engine, name), name, value)
        made.append(make_override(engine, name, texts))
    return made


def _restore(
    inherited: dict[str, Texts],
    own: dict[str, Texts],
    unread: UnreadMode,
    kind: type[OptionContext],
) -> OptionContext:
    """Make a context again for pickle: the registered defaults, then inherited values, then the overrides."""
    return kind._of(rebuild(attached() or attach(), inherited, own), None, unread)
