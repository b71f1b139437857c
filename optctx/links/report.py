"""The report of `check_link`: the options that differ, and their values in each module."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from optctx.context.stamps import in_words
from optctx.registry.values import Value
from optctx.wording import columns, counted

__all__ = ["LinkReport", "Mismatch", "Said"]

_SHOWN = 5  # mismatches, or modules, that a message lists


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
        words = (f"{each} in {_several(each.modules)}" for each in self.said)
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
        """(option, value, modules with that value); the name is empty in all but an option's first row."""
        rows = []
        for mismatch in self.mismatches:
            name = mismatch.option if mismatch.known else f"{mismatch.option} (unknown here)"
            for number, said in enumerate(mismatch.said):
                rows.append(("" if number else name, str(said), ", ".join(said.modules)))
        return rows

    def summary(self) -> str:
        """One line: how many options differ among how many modules."""
        count = len(self.mismatches)
        options = counted(count, "option differs", "options differ") if count else "no option differs"
        return f"{options} among {len(self.stamped)} stamped"

    def words(self) -> str:
        """The words for an error: the first mismatches, and unstamped modules if they count."""
        found = [str(mismatch) for mismatch in self.mismatches[:_SHOWN]]
        if len(self.mismatches) > _SHOWN:
            more = counted(len(self.mismatches) - _SHOWN, "more option differs", "more options differ")
            found.append(more)
        if self.stamps_required and self.unstamped:
            found.append(f"no stamp in {_several(self.unstamped)}")
        return "; ".join(found)


def _several(modules: Sequence[str]) -> str:
    more = f" and {len(modules) - _SHOWN} more" if len(modules) > _SHOWN else ""
    return ", ".join(modules[:_SHOWN]) + more
