"""LLVM 15 and LLVM 20 beside llvmlite's LLVM 22 in one process: each reads its own values."""

from __future__ import annotations

import json

import pytest

from tests.support.bare_llvm import digests_by_argument
from tests.support.processes import run_python
from tests.support.wheels import UnreachableError, has_wheel, library_of

RELEASES = ("0.44.0", "0.47.0")  # their registries and options are laid out in three ways
ARGUMENTS = ("", "-unroll-count=2", "-unroll-count=4", "-force-vector-width=2", "-align-all-functions=6")

# `paths`: llvmlite's own library first; `expected[n][arguments]`: what fresh processes of each one give.
SCRIPT = """
    import contextlib, json, random, sys
    from tests.support.bare_llvm import BareLlvm
    import optctx
    from optctx import OptionContext, loaded_image
    from optctx._native import held
    from optctx.context import values_outside
    from optctx.engine.attach import attach
    from tests.support.scopes import in_threads

    paths, expected, arguments = map(json.loads, sys.argv[1:])
    llvms = [BareLlvm(path) for path in paths]
    engines = [attach(loaded_image(path)) for path in paths]
    assert len({engine.image.build_id for engine in engines}) == len({len(e.options) for e in engines}) == 3
    layouts = {engine.survey.registry.layout for engine in engines}
    assert len(layouts) == 2, layouts
    assert [llvm.digests() for llvm in llvms] == [each[""] for each in expected], "attaching changes nothing"
    contexts = [
        {each: OptionContext.from_args([each] if each else [], base=values_outside(engine))
         for each in arguments}
        for engine in engines
    ]

    def work(seed):
        chance = random.Random(seed)
        for _ in range(8):
            chosen = [chance.choice(arguments) for _ in llvms]
            order = chance.sample(range(3), 3)
            with contextlib.ExitStack() as stack:
                for index in order:
                    stack.enter_context(contexts[index][chosen[index]])
                for index in chance.sample(range(3), 3):
                    assert llvms[index].digests() == expected[index][chosen[index]], (seed, index, chosen)

    in_threads([lambda seed=seed: work(seed) for seed in range(4)])
    assert [llvm.digests() for llvm in llvms] == [each[""] for each in expected]
    assert not any(held().values()), held()
"""


@pytest.mark.long
@pytest.mark.redirected
@pytest.mark.skipif(
    not all(map(has_wheel, RELEASES)), reason="needs a Python that PyPI has a wheel of llvmlite 0.44 for"
)
def test_three_llvms_read_their_own_values() -> None:
    import llvmlite.binding as llvm

    try:
        paths = [str(llvm.ffi.lib._name), *(str(library_of(release)) for release in RELEASES)]
    except UnreachableError as error:
        pytest.skip(f"PyPI cannot be reached: {error}")
    expected = [digests_by_argument(path, ARGUMENTS) for path in paths]
    assert len({json.dumps(each[""]) for each in expected}) == len(expected), "three releases, three results"
    run_python(SCRIPT, *map(json.dumps, (paths, expected, ARGUMENTS)))
