"""Values of options of every type."""

from __future__ import annotations

from hypothesis import strategies as st

from optctx import Option
from optctx.testing import options, values

VALUES = {
    "bool": True,
    "boolOrDefault": True,
    "string": "text",
    "int": 3,
    "uint64": 5,
    "other": "text",
    "list": ["x"],
}


def one() -> st.SearchStrategy[tuple[Option, object]]:
    """An option with a value: every type as often as any other."""
    return options(aliases=True, trust=None).flatmap(
        lambda option: st.tuples(st.just(option), values(option, whole=True))
    )
