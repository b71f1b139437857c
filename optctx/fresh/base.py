"""Command lines that give another process the option values of this thread."""

from __future__ import annotations

from collections.abc import Mapping

from optctx.context import OptionContext
from optctx.drifting import drift
from optctx.engine.attach import attach
from optctx.errors import OptionValueError
from optctx.values import registry
from optctx.values.registry import find
from optctx.values.texts import Texts, texts_of

__all__ = ["all_arguments", "command_line", "thread_arguments"]


def thread_arguments(context: OptionContext) -> tuple[str, ...]:
    """The command line for every option that the context does not have as registered.

    Raises OptionValueError for a process-wide value without a text form.
    """
    return command_line(context._layers.flat())


def all_arguments(context: OptionContext) -> tuple[str, ...]:
    """As `thread_arguments`, with process-wide values of options that contexts cannot hold.

    Raises OptionValueError for a value without a text form.
    """
    return command_line({**_process_texts(), **context._layers.flat()})


def _process_texts() -> dict[str, Texts]:
    engine = attach()
    texts: dict[str, Texts] = {}
    for change in drift().values():
        if registry()[change.name].scope != "process":
            continue
        if not change.readable or change.value is None:
            raise OptionValueError(
                f"cannot pass the process-wide value of {change.name!r} to another process: it has no text "
                "form; do not set the option in this process"
            )
        texts[change.name] = texts_of(find(engine, change.name), change.name, change.value)
    return texts


def command_line(texts: Mapping[str, Texts]) -> tuple[str, ...]:
    """Arguments such as "-unroll-count=4", one for each occurrence."""
    return tuple(
        f"-{name}" if text is None else f"-{name}={text}" for name, given in texts.items() for text in given
    )
