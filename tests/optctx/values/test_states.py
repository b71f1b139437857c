"""Options whose values no type tells, in an LLVM that is built otherwise."""

from __future__ import annotations

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
