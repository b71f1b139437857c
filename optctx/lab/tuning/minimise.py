"""The options of a set that matter: the others are dropped one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from optctx.lab.sweep.plan import Answer

__all__ = ["minimised"]


def minimised(
    options: Mapping[str, str],
    best: Answer,
    compile: Callable[[Mapping[str, str]], Answer],
    good: Callable[[Answer], bool],
) -> tuple[dict[str, str], Answer]:
    """The fewest options that are left when each that can be dropped is, and what they compile to.

    `best`: what all of them compile to. `compile`: compiles under some of them. `good`: whether what came out
    is as good as the best; it is not asked about an equal object. What is left stands on each of its options:
    without any one of them it is worse.
    """
    left, answer = dict(options), best
    again = True
    while again:
        again = False
        for name in list(left):
            fewer = {each: text for each, text in left.items() if each != name}
            without = compile(fewer)
            if without.state == "ok" and (without.digest == answer.digest or good(without)):
                left, answer, again = fewer, without, True
    return left, answer
