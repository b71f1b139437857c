"""Run a case again: `python -m optctx.lab.timing CASE.TOML`."""

from __future__ import annotations

import sys

from optctx.errors import OptctxError
from optctx.lab.timing.reproduce import read_case
from optctx.wording import printable

__all__ = ["main"]


def main(arguments: list[str]) -> int:
    """0: the candidate leaves what the base leaves. 1: it does not. 2: the case cannot be run."""
    if len(arguments) != 1:
        print("usage: python -m optctx.lab.timing CASE.TOML", file=sys.stderr)
        return 2
    try:
        outcome = read_case(arguments[0]).run()
    except OptctxError as error:
        print(printable(f"optctx.lab.timing: {error}"), file=sys.stderr)
        return 2
    print(printable(f"{outcome.state}{': ' if outcome.error else ''}{outcome.error}"))
    return 0 if outcome.state == "ok" else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
