"""Options with the values that a context gives them: which may be set, and what LLVM makes of their text."""

from __future__ import annotations

from typing import NamedTuple

from optctx._native import Kind, ParseError, Setting
from optctx.engine.engine import Engine
from optctx.errors import (
    OptionValueError,
    ProcessWideOptionError,
    llvms_reason,
    shown,
)
from optctx.image.options import RegisteredOption
from optctx.values.read_values import Value, read_value
from optctx.values.registry import find
from optctx.values.states import registered_state
from optctx.values.texts import Texts, check_occurrence, expectation, has_text
from optctx.wording import nesting

_MOST_NESTED = 1000  # parentheses of a regular expression; LLVM takes about 270 bytes of the stack for each
_PRINTING = ("help", "help-hidden", "help-list", "help-list-hidden", "version")


def scopable(engine: Engine, name: str) -> RegisteredOption:
    """Look up the option called `name`, through an alias too, if a context may set it.

    Raises UnknownOptionError, and ProcessWideOptionError with the reason if the option cannot be scoped.
    """
    option = engine.resolve(find(engine, name))
    if option.slot is None:
        raise ProcessWideOptionError(
            f"cannot set {name!r} for one thread: {option.reason}; {_instead(option)}", name, option.reason
        )
    return option


def _instead(option: RegisteredOption) -> str:
    """Say what to do about an option that cannot be scoped."""
    if option.name in _PRINTING:
        return "leave it out"
    return (
        "leave it out, or set it in a process of its own: "
        f"optctx.compiling.FreshProcess compiles Job(..., options=('-{option.name}=...',)) there"
    )


class Override(NamedTuple):
    """`texts` are what LLVM parsed; `setting` is the storage that holds the result."""

    name: str
    texts: Texts
    option: RegisteredOption
    setting: Setting

    def value(self) -> Value:
        """Return what LLVM parsed from the text, or the text itself if the type has no readable form."""
        if self.option.type.kind == Kind.other:
            return list(self.texts) if len(self.texts) > 1 else self.texts[-1]
        return read_value(self.option, self.option.value_in(self.setting.addresses.__getitem__))

    def args(self) -> list[str]:
        """Write the override as command-line arguments."""
        return [f"-{self.name}" if text is None else f"-{self.name}={text}" for text in self.texts]


def make_override(engine: Engine, name: str, texts: Texts) -> Override:
    """Have LLVM parse `texts` for the option. Changes nothing process-wide and prints nothing.

    `name` is the one that the caller gave. Raises as `scopable` does, and OptionValueError with LLVM's words.
    """
    option = scopable(engine, name)
    _check_texts(option, name, texts)
    if not texts and (registered := registered_state(engine, option).value):
        raise OptionValueError(
            f"cannot set {name!r} to an empty list: LLVM registered it with {registered}, and no command "
            "line takes elements away; name those that it shall have, or leave the option out"
        )
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
    given = [text for text in texts if text is not None]
    said = f"cannot set {name!r} to {shown(','.join(given))}: LLVM says: {words}"
    expected = expectation(option, given)
    if expected and words.endswith("!"):  # as some of LLVM's messages do
        return f"{said} {expected[0].upper()}{expected[1:]}"
    return f"{said}; {expected}" if expected else said
