"""The nearest names."""

from __future__ import annotations

import string

from hypothesis import given
from hypothesis import strategies as st

from optctx import registry
from optctx.wording import nearest
from tests.support.examples import examples


@examples(5)  # each compares with every option
@given(st.sampled_from(sorted(name for name in registry() if len(name) > 5)), st.data())
def test_a_name_with_one_letter_too_many_is_among_the_nearest(name: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(name)))
    typed = name[:at] + data.draw(st.sampled_from(string.ascii_lowercase)) + name[at:]
    assert name in nearest(typed, registry()) or typed in registry()
    assert nearest(name, registry())[0] == name
