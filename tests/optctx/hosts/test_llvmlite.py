"""What attaching does to llvmlite lasts as long as the calls that it is about."""

from __future__ import annotations

import optctx
from tests.support.alone import alone


@alone
def test_attaching_again_drops_nothing_that_another_thread_may_be_in() -> None:
    """ctypes calls a function's `errcheck` without a reference to it."""
    from llvmlite.binding import ffi

    def checks() -> list[object]:
        return [ffi.lib._fntab[name]._cfn.errcheck for name in sorted(ffi.lib._fntab)]

    optctx.attach()
    before = checks()
    assert len({id(each) for each in before}) > 1
    for _ in range(3):
        optctx.detach()
        optctx.attach()
        assert all(now is was for now, was in zip(checks(), before, strict=True))
