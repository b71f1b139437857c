"""When two states of an option are equal, and the texts that stand for them in keys which users keep."""

from __future__ import annotations

import math

from llvmlite import binding

from optctx import drift, registry
from optctx.engine.attach import attach
from optctx.image.abi import parse_vtable_name
from optctx.values.states import State, live_state, registered_state
from tests.support.alone import alone

# Of an LLVM with the std::string of libc++'s second ABI.
_STRING = "NSt3__212basic_stringIcNS2_11char_traitsIcEENS2_9allocatorIcEEEE"
NEW_STRINGS = f"_ZTVN4llvm2cl4listI{_STRING}bNS0_6parserIS8_EEEE"
NEW_STRING = f"_ZTVN4llvm2cl3optI{_STRING}Lb0ENS0_6parserIS8_EEEE"


def test_states_are_equal_that_llvm_treats_alike() -> None:
    assert State(4, 1) == State(4, 2), "it asks whether an option was given, not how often"
    assert State(4, 0) != State(4, 1) != State(5, 1)
    assert State(math.nan, 0) == State(math.nan, 0)
    assert State(0.0, 0) != State(-0.0, 0)
    assert State(None, 1, readable=False) != State(None, 2, readable=False), "all that shows of a change"


def test_the_texts_of_states_never_change() -> None:
    assert State([1.5, 2, math.nan, "b, c"], 2).text == "given [0x1.8000000000000p+0, 2, nan, 'b, c']"


@alone
def test_an_option_whose_strings_are_of_another_layout_has_no_value_to_read() -> None:
    """It is set, and named where options are listed that are not as registered."""
    engine = attach()
    for name, mangled in {"print-after": NEW_STRINGS, "pgo-test-profile-file": NEW_STRING}.items():
        option = engine.options[name]
        option.type = parse_vtable_name(mangled, enumerated=False)
        option.slot = None
        binding.set_option("", f"-{name}=text")
        assert live_state(option) == State(None, 1, readable=False)
        assert registered_state(engine, option) == State(None, 0, readable=False)
        shown = registry()[name]
        assert (shown.value, shown.default) == (None, None)
        assert name in repr(shown)
        assert name in repr(drift())
