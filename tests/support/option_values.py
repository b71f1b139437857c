"""Values of options of every type."""

from __future__ import annotations

from hypothesis import strategies as st

from optctx import Option, registry
from optctx.testing import values
from optctx.testing.strategies import can_draw

# Of options that a strategy of the package does not draw: texts, or the bounds of elements.
_TEXTS: dict[str, list[object]] = {
    "debug-only": ["", "licm", "gvn,loop-unroll", "isel:2"],
    "pass-remarks": ["", "a.*", "inline|loop-vectorize"],
    "pass-remarks-analysis": ["", "[a-z]+"],
    "pass-remarks-missed": ["", "licm"],
    "sve-tail-folding": ["all", "simple", "disabled", "default+reductions", "all+noreverse"],
    "x86-align-branch": ["", "jcc", "jcc+fused+jmp", "call+ret+indirect"],
}
_NUMBERS = {
    "print-after-pass-number": 2**32,
    "print-before-pass-number": 2**32,
    "thinlto-move-symbols": 2**64,
}
# No comma: on a command line it separates the elements of most lists.
_WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0,"), max_size=20)


def one() -> st.SearchStrategy[tuple[Option, object]]:
    """An option with a value: every type as often as any other."""
    return st.deferred(_of_each_type).flatmap(lambda option: st.tuples(st.just(option), _values(option)))


def _values(option: Option) -> st.SearchStrategy[object]:
    if can_draw(option):
        return values(option, whole=True)
    if option.type != "list":
        return st.sampled_from(_TEXTS[option.name])
    most = _NUMBERS.get(option.name)
    return st.lists(_WORDS if most is None else st.integers(0, most - 1), max_size=4)


def _of_each_type() -> st.SearchStrategy[Option]:
    """Other names of the same options, too."""
    kinds: dict[str, list[Option]] = {}
    for option in registry().values():
        if option.scope != "process":
            kinds.setdefault(option.type, []).append(option)
    return st.one_of([st.sampled_from(kinds[kind]) for kind in sorted(kinds)])
