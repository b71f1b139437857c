"""The option values that all trials of an experiment have: `--set NAME=VALUE`."""

from __future__ import annotations

from collections.abc import Sequence

from optctx import OptionContext
from optctx.errors import OptctxError, shown

__all__ = ["base_context", "settings_of"]


def base_context(settings: Sequence[str], load: str | None = None) -> OptionContext:
    """Make a context of texts such as "unroll-count=4", "-unroll-count=4" or "enable-gvn-hoist" (a flag).

    A value may have commas. `load`: a file of options, such as the best.toml of a search, which the settings
    come on top of. Options that cannot be scoped take effect for the process inside.

    Raises OptctxError for text without a name, for an option that is given twice, and as OptionContext does.
    """
    words = settings_of(settings)
    loaded = None if load is None else OptionContext.load(load, process_wide="exclusive")
    for word in words:  # alone: a name without a value would take the next word for it
        if "=" not in word:
            OptionContext.from_args([word], process_wide="exclusive")
    return OptionContext.from_args(words, base=loaded or "inherit", process_wide="exclusive")


def settings_of(settings: Sequence[str]) -> list[str]:
    """The settings as words of a command line. Raises OptctxError without asking LLVM."""
    words: dict[str, str] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        name = name.strip().lstrip("-")
        if not name or any(each.isspace() for each in name):
            raise OptctxError(
                f"expected NAME=VALUE, such as unroll-count=4, or the name of a flag, found {shown(setting)}"
            )
        if name in words:
            raise OptctxError(f"option {shown(name)} is set twice; take one --set out")
        words[name] = f"-{name}{equals}{value.strip()}"
    return list(words.values())
