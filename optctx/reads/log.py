"""What LLVM read inside a `record()` block."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from optctx._native import Context, Kind, Recorder, demangle, overrides_of
from optctx.engine.engine import Engine
from optctx.errors import OptctxError, ScopeError
from optctx.image.options import RegisteredOption
from optctx.reads.readers import functions_reading, readers_of
from optctx.reads.unread import why_unread
from optctx.values.read_values import Value, value_text
from optctx.values.states import fingerprint_of, process_texts, text_under, value_under
from optctx.wording import columns, counted, html_table

_NAME = re.compile(r"(?:\(anonymous namespace\)|operator\(\)|[^(])+")
_SAME = "read, but equal to its process-wide value"


@dataclass(frozen=True)
class Read:
    """One option that LLVM read.

    `values`: the values that LLVM saw, each once, in the order in which scopes were first entered.
    `functions`: the LLVM functions that read it, demangled. A read by inlined code counts for the function
    that it was inlined into. `note`: says so if an override was read but equals the option's process-wide
    value; otherwise empty.
    """

    name: str
    values: tuple[Value, ...]
    functions: tuple[str, ...]
    note: str = ""

    @property
    def value(self) -> Value:
        """The value that LLVM saw. Raises OptctxError if it saw several."""
        if len(self.values) != 1:
            raise OptctxError(f"{self.name!r} was read with several values, {self.values!r}: see `values`")
        return self.values[0]

    @property
    def cells(self) -> tuple[str, str, str]:
        """Its name, its values and its functions without parameters, as texts for a table."""
        functions = list(dict.fromkeys(map(_without_parameters, self.functions)))
        more = f" and {len(functions) - 1} more" if len(functions) > 1 else ""
        note = f" ({self.note})" if self.note else ""
        return self.name, " then ".join(map(value_text, self.values)), f"{functions[0]}{more}{note}"


@dataclass(frozen=True)
class Unread:
    """An override of a scope, a bound context or a function's attribute that LLVM did not read.

    `cause`: what is known of it, in words: which functions read the option, or that LLVM read none at all.
    """

    name: str
    value: Value
    cause: str


# A context, and the indexes of the readers that read under it.
Scope = tuple[Context, list[int]]


class Log:
    """What LLVM read on one thread, from the beginning of a block to its end.

    Before the end, only the thread that records can use the log, and sees what was read so far.
    """

    def __init__(self, engine: Engine, recorder: Recorder) -> None:
        """Begin the log of a recorder that starts now, on this thread."""
        self._engine = engine
        self._recorder = recorder
        self._thread = threading.get_ident()
        self._drift = engine.space.drift()
        self._process = process_texts(engine)
        self._ended: list[Scope] | None = None
        self._problem: str | None = None
        self._reads: Mapping[str, Read] | None = None  # once the block has ended, and they were asked for

    def _end(self) -> None:
        """Called by `Recording.__exit__`, after the recording has stopped."""
        try:
            self._ended = self._scopes()
        except OptctxError as error:  # raised when the log is used; the block may have failed already
            self._problem = str(error)

    @property
    def names(self) -> frozenset[str]:
        """Names of the options that were read. `reads` has more details, and takes longer."""
        readers = {reader for _, own in self._scopes() for reader in own}
        return frozenset(option.name for option in self._options(sorted(readers)))

    @property
    def reads(self) -> Mapping[str, Read]:
        """Every option that was read, by name.

        Reads of `debug` and `debug-only`, and of options that cannot be scoped (`Option.scope` "process"),
        are not seen. If LLVM itself wrote an option inside a scope, `values` has the context's value.
        """
        if self._reads is not None:
            return self._reads
        values: dict[str, list[Value]] = {}
        readers: set[int] = set()
        same: dict[str, bool] = {}  # override -> whether it equals the process-wide value in every scope
        outside = Context.make(self._engine.space, self._drift, [])
        for context, own in self._scopes():
            readers.update(own)
            overridden = {option.name for option in self._overridden(context)}
            for option in self._options(own):
                name, value = option.name, value_under(context, option)
                seen = values.setdefault(name, [])
                if value not in seen:
                    seen.append(value)
                if name in overridden:
                    known = option.type.kind != Kind.other
                    equal = known and value == value_under(outside, option)
                    same[name] = equal and same.get(name, True)
        functions = functions_reading(self._engine, sorted(readers))
        found = MappingProxyType(
            {
                name: Read(
                    name,
                    tuple(values[name]),
                    tuple(map(demangle, functions[name])),
                    _SAME if same.get(name) else "",
                )
                for name in sorted(values)
            }
        )
        if self._ended is not None:
            self._reads = found
        return found

    @property
    def unread(self) -> list[Unread]:
        """Overrides of the entered contexts that LLVM read under none of them.

        Options that a context changes for the whole process are left out, because their reads are not seen.
        """
        read: set[tuple[str, str]] = set()
        idle = True
        given: dict[tuple[str, str], tuple[Context, RegisteredOption]] = {}
        for context, own in self._scopes():
            idle = idle and not own
            read.update((option.name, text_under(context, option)) for option in self._options(own))
            for option in self._overridden(context):
                given[option.name, text_under(context, option)] = context, option
        return [
            Unread(name, value_under(context, option), why_unread(option, idle))
            for (name, state), (context, option) in sorted(given.items(), key=lambda item: item[0])
            if (name, state) not in read
        ]

    def _repr_html_(self) -> str:
        reads = self.reads.values()
        title = _summary(len(reads), len(self.unread))
        return html_table(title, ("option", "value", "read by"), (read.cells for read in reads), len(reads))

    def __str__(self) -> str:
        """Write two tables: options read, with values and functions; overrides not read, with causes."""
        try:
            reads, unread = self.reads, self.unread
        except OptctxError as error:
            return f"no log: {error}"
        lines = []
        if reads:
            lines += columns([("option", "value", "read by"), *(read.cells for read in reads.values())])
        if unread:
            rows = [(each.name, value_text(each.value), each.cause) for each in unread]
            lines += ["", *columns([("override", "value", "not read because"), *rows])]
        return "\n".join([*lines, "", _summary(len(reads), len(unread))]).lstrip("\n")

    def __repr__(self) -> str:
        try:
            return f"<Log: {_summary(len(self.names), len(self.unread))}>"
        except OptctxError as error:
            return f"<Log: {error}>"

    def fingerprint(self) -> str:
        """Make a key, 64 hexadecimal digits, over the library's build id and the options that were read.

        Two compilations of the same input that have the same fingerprint have the same output. A cache of
        compiled code therefore stays valid if an option changes that was not read, and misses if one changes
        that was. The fingerprint is the same in every process with the same library. But if an option whose
        value has no readable form was set process-wide, every fingerprint is different. Files that options
        name, such as a profile, are not part of it. Options that cannot be scoped are part of it, as they
        were process-wide when the block began.

        Raises OptctxError if not everything was recorded, as all of this does.
        """
        scopes = [(context, self._options(own)) for context, own in self._scopes() if own]
        return fingerprint_of(self._engine, scopes, self._process)

    def _options(self, readers: list[int]) -> list[RegisteredOption]:
        known = readers_of(self._engine)
        options = {id(option): option for reader in readers for option in known[reader][1]}
        return [option for option in options.values() if option.slot is not None]

    def _overridden(self, context: Context) -> list[RegisteredOption]:
        plan = self._engine.plan
        options = [plan.owners[slot] for slot, _ in overrides_of(context)]
        return [option for option in options if plan.sees_reads(option)]

    def _scopes(self) -> list[Scope]:
        if self._ended is not None:
            return self._ended
        if self._problem is not None:
            raise OptctxError(self._problem)
        if threading.get_ident() != self._thread:
            raise ScopeError(
                "another thread is recording: its log can be read there, or when its block has ended"
            )
        self._recorder.gather()
        if self._recorder.lost:
            raise OptctxError(
                "not everything that LLVM read was recorded: inside the block another handler of SIGSEGV was "
                "installed over that of optctx, or the signal was blocked; do so before"
            )
        return [
            scope for context, readers in self._recorder.seen for scope in self._with_values(context, readers)
        ]

    def _with_values(self, context: Context | None, readers: list[int]) -> list[Scope]:
        """Pair readers with their context, outside scopes (None) with process-wide values, old and new."""
        if context is not None:
            return [(context, readers)]
        if not readers:
            return []
        now = self._engine.space.drift()
        drifts = [self._drift] if now.is_same(self._drift) else [self._drift, now]
        return [(Context.make(self._engine.space, drift, []), readers) for drift in drifts]


def _summary(reads: int, unread: int) -> str:
    """Say in one line how many options were read, and how many overrides were not."""
    return f"{counted(reads, 'option')} read, {counted(unread, 'override')} not read"


def _without_parameters(function: str) -> str:
    """Cut a demangled name off before its parameters. The name itself may contain parentheses."""
    name = _NAME.match(function)
    return name.group() if name else function
