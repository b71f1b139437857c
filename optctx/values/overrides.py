"""Options with the values that a context gives them.

Which may be set, what LLVM makes of their text, and the changes for the whole process of those that cannot be
scoped.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import Literal

from optctx._native import Change, Kind, ParseError, ProcessWide, Setting, call_pointer
from optctx.engine.engine import Engine
from optctx.errors import (
    OptionTypeError,
    OptionValueError,
    ProcessWideOptionError,
    UnsupportedImageError,
    llvms_reason,
    shown,
)
from optctx.image.facts.mangled_names import OPT_BISECTOR, PASS_GATE
from optctx.image.options import RegisteredOption
from optctx.plan.refusals import COPIED_FOR_GOOD
from optctx.values.read_values import Value, read_value
from optctx.values.registry import find
from optctx.values.states import registered_state
from optctx.values.texts import Texts, check_occurrence, expectation, has_text
from optctx.wording import nesting

ProcessWideMode = Literal["refuse", "exclusive"]

# Options whose callback changes a single object, which can be restored with the option.
_BISECTION = ("opt-bisect-limit",)
# Sizes in bytes of cl::location variables that have no symbol, by kind.
_VARIABLE_SIZES = {Kind.boolean: 1, Kind.string: 8}
_MOST_NESTED = 1000  # parentheses of a regular expression; LLVM takes about 270 bytes of the stack for each
_PRINTS = "it makes LLVM print and end the process"
_NEVER = {
    **COPIED_FOR_GOOD,
    **dict.fromkeys(("help", "help-hidden", "help-list", "help-list-hidden", "version"), _PRINTS),
    "debug-counter": "its counters keep running, and where they were cannot be put back",
    "print-debug-counter": "it makes every debug counter count, which cannot be put back",
    "debug-buffer-size": "LLVM reads it once, when it first prints",
}


def scopable(engine: Engine, name: str, mode: ProcessWideMode = "refuse") -> RegisteredOption:
    """Look up the option called `name`, through an alias too, if a context may set it.

    Raises UnknownOptionError, and ProcessWideOptionError with the reason if the option cannot be scoped. In
    mode "exclusive" it raises the latter only if the option could not be restored exactly either.
    """
    if not isinstance(mode, str) or mode not in ("refuse", "exclusive"):
        raise OptionTypeError(f'process_wide is "refuse" or "exclusive", found {shown(mode)}')
    option = engine.resolve(find(engine, name))
    if option.slot is not None:
        return option
    never = _why_not(option)
    if mode == "refuse":
        raise ProcessWideOptionError(
            f"cannot set {name!r} for one thread: {option.reason}; {_instead(option, never)}",
            name,
            option.reason,
        )
    if never:
        raise ProcessWideOptionError(
            f"cannot set {name!r}, not even process-wide while a context is entered: {never}; "
            f"{_instead(option, never)}",
            name,
            never,
        )
    return option


def _instead(option: RegisteredOption, never: str) -> str:
    """Say what to do about an option that cannot be scoped. `never`: why it cannot be restored, or empty."""
    if not never:
        return (
            'use process_wide="exclusive", which sets it for the whole process while the context is entered'
        )
    if never == _PRINTS:
        return "leave it out"
    setting = f"llvmlite.binding.set_option('', '-{option.name}=...')"
    return f"leave it out, or set it once, before anything compiles: {setting}"


def _why_not(option: RegisteredOption) -> str:
    """Say why a change of the option could not be undone exactly; empty if it could."""
    kind = option.type.kind
    never = next((_NEVER[name] for name in option.names if name in _NEVER), "")
    if never:
        return never
    if option.callback and option.name not in _BISECTION:
        return "it runs a callback, whose effect cannot be undone"
    if kind == Kind.other:
        return "its value has no form that could be put back"
    if not option.type.supported:
        return "its type has a layout that is not known here"
    if option.type.external and option.variable_size is None and kind not in _VARIABLE_SIZES:
        return "its value is in storage (cl::location) of unknown size"
    return ""


class Override:
    """`texts` are what LLVM parsed; `setting` is the storage that holds the result.

    Without a `setting` the option cannot be scoped: LLVM parses the text when the context is entered.
    """

    __slots__ = ("name", "option", "setting", "texts")

    def __init__(self, name: str, texts: Texts, option: RegisteredOption, setting: Setting | None) -> None:
        self.name = name
        self.texts = texts
        self.option = option
        self.setting = setting

    def value(self) -> Value:
        """Return what LLVM parsed from the text, or the text itself if the type has no readable form."""
        if self.setting is None or self.option.type.kind == Kind.other:
            several = self.option.type.kind == Kind.list or len(self.texts) > 1
            return list(self.texts) if several else self.texts[-1]
        addresses = {patch.slot: patch.address for patch in self.setting.patches}
        return read_value(self.option, self.option.value_in(addresses.__getitem__))

    def args(self) -> list[str]:
        """Write the override as command-line arguments."""
        return [f"-{self.name}" if text is None else f"-{self.name}={text}" for text in self.texts]


def make_override(engine: Engine, name: str, texts: Texts, mode: ProcessWideMode = "refuse") -> Override:
    """Have LLVM parse `texts` for the option. Changes nothing process-wide and prints nothing.

    `name` is the one that the caller gave. Raises as `scopable` does, and OptionValueError with LLVM's words.
    """
    option = scopable(engine, name, mode)
    _check_texts(option, name, texts)
    if not texts and (registered := registered_state(engine, option).value):
        raise OptionValueError(
            f"cannot set {name!r} to an empty list: LLVM registered it with {registered}, and no command "
            "line takes elements away; name those that it shall have, or leave the option out"
        )
    if option.scope == "process":
        return Override(name, texts, option, None)
    # A literal choice is parsed under its own name; everything else under the option's.
    own = name if name in option.names else option.name
    assert option.slot is not None
    try:
        setting = engine.space.parse(option.slot, own, list(texts))
    except ParseError as error:
        raise OptionValueError(_message(option, name, texts, llvms_reason(str(error)))) from None
    return Override(own, texts, option, setting)


def _check_texts(option: RegisteredOption, name: str, texts: Texts) -> None:
    for text in texts:
        check_occurrence(option, name, text)
        if option.type.kind == Kind.other and (levels := nesting(text or "")) > _MOST_NESTED:
            raise OptionValueError(
                f"cannot set {name!r} to {shown(text)}: it nests {levels:,} levels deep, which can overflow "
                f"the stack of LLVM's parser; nest at most {_MOST_NESTED:,} levels"
            )
        if not has_text((text,)):
            raise OptionValueError(
                f"cannot set {name!r} to {shown(text)}: the text of an option is UTF-8 without NUL; take the "
                "other characters out"
            )


def _message(option: RegisteredOption, name: str, texts: Texts, words: str) -> str:
    given = ",".join(text for text in texts if text is not None)
    expected = expectation(option, [text for text in texts if text is not None])
    if not expected:
        return f"cannot set {name!r} to {shown(given)}: LLVM says: {words}"
    # Some of LLVM's messages end with an exclamation mark.
    end = f" {expected[0].upper()}{expected[1:]}" if words.endswith("!") else f"; {expected}"
    return f"cannot set {name!r} to {shown(given)}: LLVM says: {words}{end}"


def changes_of(engine: Engine, overrides: Iterable[Override]) -> ProcessWide | None:
    """Make the process-wide changes for those overrides that cannot be scoped. None if all can be."""
    exclusive = [override for override in overrides if override.setting is None]
    if not exclusive:
        return None
    exclusive.sort(key=lambda override: override.option.name)
    key = shlex.join(arg for override in exclusive for arg in override.args())
    changes = [_change(engine, override) for override in exclusive]
    return ProcessWide.make(engine.space, changes, key)


def _change(engine: Engine, override: Override) -> Change:
    option = override.option
    kind, variable = option.type.kind, (0, 0)
    if option.variable:
        variable = option.variable, option.variable_size or _VARIABLE_SIZES.get(kind, 1)
    return Change(
        option.address,
        override.name,
        list(override.texts),
        kind,
        option.value_offset,
        variable,
        _changed_beside(engine, option.name),
    )


def _changed_beside(engine: Engine, name: str) -> tuple[int, int]:
    """Find the object that parsing the option changes besides its value: (address, size), or (0, 0)."""
    if name not in _BISECTION:
        return 0, 0
    findings = engine.image.findings
    call_pointer(findings.need(PASS_GATE).address)  # makes it
    findings.need(OPT_BISECTOR)
    symbol = findings.find_object(OPT_BISECTOR)
    if symbol is None:
        raise UnsupportedImageError(
            f"{engine.image.path}: expected {OPT_BISECTOR.what} to be an object, found none"
        )
    return symbol.address, symbol.size
