"""No more memory for contexts: a MemoryError, wherever it comes, and no end of the process."""

from __future__ import annotations

import resource
from functools import partial

from optctx import OptionContext
from tests.support.alone import alone
from tests.support.processes import in_child
from tests.support.scopes import unrolled


def exhaust(more: int) -> None:
    """Make contexts until `more` bytes are used up, and use one when there is memory again."""
    with open("/proc/self/statm", encoding="ascii") as statm:
        used = int(statm.read().split()[0]) * resource.getpagesize()
    limit = resource.getrlimit(resource.RLIMIT_AS)
    contexts: list[OptionContext | None] = [None] * 50_000
    made = 0
    resource.setrlimit(resource.RLIMIT_AS, (used + more, limit[1]))
    try:
        while True:
            contexts[made] = OptionContext({"unroll-count": made + 2})
            made += 1
    except MemoryError:
        resource.setrlimit(resource.RLIMIT_AS, limit)
    with contexts[0] or OptionContext(unroll_count=2):
        assert unrolled() == 2


@alone
def test_a_context_for_which_there_is_no_memory_is_an_error() -> None:
    """Most of these sizes ended the process while nanobind's tables grew."""
    OptionContext(unroll_count=2)
    for kilobytes in (0, *range(1024, 3072, 512)):
        in_child(partial(exhaust, kilobytes << 10))
