"""One option with the value that a context gives it."""

from __future__ import annotations

from optctx._native import Kind, ParseError, Setting
from optctx.context.expected import expectation
from optctx.context.scopable import ProcessWideMode, scopable
from optctx.context.text import Texts
from optctx.engine.attach import Engine
from optctx.engine.plan import PlannedOption
from optctx.errors import OptionValueError, llvms_reason, shown
from optctx.registry.values import Value, read_value

__all__ = ["Override", "make_override"]


class Override:
    """`texts` are what LLVM parsed; `setting` is the storage that holds the result.

    Without a `setting` the option cannot be scoped: LLVM parses the text when the context is entered. Two are
    equal that say the same.
    """

    __slots__ = ("name", "option", "setting", "texts")

    def __init__(self, name: str, texts: Texts, option: PlannedOption, setting: Setting | None) -> None:
        self.name = name
        self.texts = texts
        self.option = option
        self.setting = setting

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Override) and (self.name, self.texts) == (other.name, other.texts)

    def __hash__(self) -> int:
        return hash((self.name, self.texts))

    def value(self, engine: Engine) -> Value:
        """The value that LLVM parsed from the text, or the text itself if the type has no readable form."""
        if self.setting is None or self.option.record.type.kind == Kind.other:
            return list(self.texts) if self.option.record.type.kind == Kind.list else self.texts[-1]
        addresses = {patch.slot: patch.address for patch in self.setting.patches}
        if self.option.record.type.external:
            return read_value(self.option, addresses[self.option.variable_slot])
        assert self.option.slot is not None
        return read_value(self.option, addresses[self.option.slot] + engine.survey.value_offset)

    def args(self) -> list[str]:
        """The override as command-line arguments."""
        return [f"-{self.name}" if text is None else f"-{self.name}={text}" for text in self.texts]


def make_override(engine: Engine, name: str, texts: Texts, mode: ProcessWideMode = "refuse") -> Override:
    """Have LLVM parse `texts` for the option. Changes nothing process-wide and prints nothing.

    `name` is the one that the caller gave. Raises as `scopable` does, and OptionValueError with LLVM's words.
    """
    option = scopable(engine, name, mode)
    _check_text(name, texts)
    if option.scope == "process":
        return Override(name, texts, option, None)
    # A literal choice is parsed under its own name; everything else under the option's.
    own = name if name in option.record.names else option.record.name
    assert option.slot is not None
    try:
        setting = engine.space.parse(option.slot, own, list(texts))
    except ParseError as error:
        raise OptionValueError(_message(option, name, texts, llvms_reason(str(error)))) from None
    return Override(own, texts, option, setting)


def _check_text(name: str, texts: Texts) -> None:
    for text in texts:
        if text is not None and ("\0" in text or any("\ud800" <= c <= "\udfff" for c in text)):
            raise OptionValueError(
                f"cannot set {name!r} to {shown(text)}: the text of an option is UTF-8 without NUL; take the "
                "other characters out"
            )


def _message(option: PlannedOption, name: str, texts: Texts, words: str) -> str:
    given = ",".join(text for text in texts if text is not None)
    expected = expectation(option, [text for text in texts if text is not None])
    if not expected:
        return f"cannot set {name!r} to {shown(given)}: LLVM says: {words}"
    # Some of LLVM's messages end with an exclamation mark.
    end = f" {expected[0].upper()}{expected[1:]}" if words.endswith("!") else f"; {expected}"
    return f"cannot set {name!r} to {shown(given)}: LLVM says: {words}{end}"
