"""Values of options of every type."""

from __future__ import annotations

from hypothesis import strategies as st

from optctx import Option, registry
from optctx.testing import values

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
    return st.deferred(_of_each_type).flatmap(
        lambda option: st.tuples(st.just(option), values(option, whole=True))
    )


def _of_each_type() -> st.SearchStrategy[Option]:
    """Other names of the same options, too."""
    kinds: dict[str, list[Option]] = {}
    for option in registry().values():
        if option.scope != "process":
            kinds.setdefault(option.type, []).append(option)
    return st.one_of([st.sampled_from(kinds[kind]) for kind in sorted(kinds)])
