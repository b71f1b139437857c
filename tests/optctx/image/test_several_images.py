"""Two LLVMs in one process: scopes, bindings and process-wide changes of one leave the other as it is."""

from __future__ import annotations

import json
import pathlib
import shutil
import textwrap
from collections.abc import Callable

import pytest
from bare_llvm import compiled_by_fresh_process
from cpp_build import SHARED, compile_cpp
from llvmlite.binding import ffi
from support import run_python

COUNTS = (2, 3, 4, 5)
Digests = dict[str, dict[str, str]]

# `first` is llvmlite's LLVM, `second` the copy; `expected[arguments]` is what fresh processes give.
START = """
    import contextlib, ctypes, json, os, random, sys, threading
    from bare_llvm import JOBS, BareLlvm
    from llvmlite.binding import ffi
    import optctx
    from optctx import OptionContext, current, drift
    from optctx._native import Image, held, loaded_libraries
    from optctx.context.lookups import process_wide_values
    from optctx.engine.attach import attach, attached, detach, engines
    from support import in_threads, unrolled

    def image_of(path):
        real = os.path.realpath(path)
        (base,) = {base for name, base in loaded_libraries() if os.path.realpath(name) == real}
        return Image(path, base)

    path, expected = sys.argv[1], json.loads(sys.argv[2])
    second = BareLlvm(path)
    engines_wanted = os.environ.pop("TEST_ENGINES", "").split()
    if engines_wanted:
        os.environ["OPTCTX_ENGINE"] = engines_wanted[1]
    other = attach(image_of(path))
    if engines_wanted:
        os.environ["OPTCTX_ENGINE"] = engines_wanted[0]
    own = attach()
    first = BareLlvm(ffi.lib._name)

    def context_of(engine, *arguments, **more):
        return OptionContext.from_args(arguments, base=process_wide_values(engine), **more)
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    made = tmp_path_factory.mktemp("second") / "libsecond.so"
    shutil.copy(ffi.lib._name, made)
    return made


@pytest.fixture(scope="module")
def expected(copy: pathlib.Path) -> Digests:
    """By the argument that a fresh process was given; "" for none."""
    found = {"": compiled_by_fresh_process(copy)}
    for count in COUNTS:
        argument = f"-unroll-count={count}"
        found[argument] = compiled_by_fresh_process(copy, argument)
    assert len({json.dumps(each) for each in found.values()}) == len(found), "the options must matter"
    assert found[""] == compiled_by_fresh_process(ffi.lib._name), "both libraries are the same code"
    return found


@pytest.fixture
def run(copy: pathlib.Path, expected: Digests) -> Callable[..., str]:
    """Runs a script after `START`."""

    def run(script: str, *arguments: str) -> str:
        return run_python(
            textwrap.dedent(START) + textwrap.dedent(script), str(copy), json.dumps(expected), *arguments
        )

    return run


def test_each_image_has_an_engine_of_its_own(run: Callable[..., str]) -> None:
    run("""
    assert (other.index, own.index) == (0, 1), "in the order in which they were attached"
    assert [engine.index for engine in engines()] == [0, 1]
    assert attach() is own and attach(other.image) is other and attached(other.image) is other
    assert other.image.path == path and own.image.path == ffi.lib._name
    assert [each["path"] for each in optctx.info()["images"]] == [path, ffi.lib._name]
    assert other.options["unroll-count"].record.address != own.options["unroll-count"].record.address
    assert second.digests() == first.digests() == expected[""], "attaching changes nothing"
    """)


def test_llvmlites_image_is_the_default_however_it_is_attached() -> None:
    run_python("""
    from optctx import OptionContext
    from optctx.context.lookups import process_wide_values
    from optctx.engine.attach import attach, attached, is_llvmlites
    from optctx.image.loaded import llvmlite_image
    from support import unrolled_by_llvmlite

    engine = attach(llvmlite_image())
    assert is_llvmlites(engine) and attached() is engine and attach() is engine
    with OptionContext(unroll_count=4, base=process_wide_values(engine)):
        assert unrolled_by_llvmlite() == 4
    """)


def test_scopes_of_one_image_leave_the_other_alone(run: Callable[..., str]) -> None:
    run("""
    two, four = context_of(own, "-unroll-count=2"), context_of(other, "-unroll-count=4")

    def compiled():
        return tuple(next((a for a, all in expected.items() if all == llvm.digests()), "unknown")
                     for llvm in (first, second))

    assert compiled() == ("", "")
    with two:
        assert compiled() == ("-unroll-count=2", "")
        assert current()["unroll-count"] == 2
        with four:
            assert compiled() == ("-unroll-count=2", "-unroll-count=4")
            assert current()["unroll-count"] == 2 and current().overrides == {"unroll-count": 2}
            with context_of(own, "-unroll-count=3"):
                assert compiled() == ("-unroll-count=3", "-unroll-count=4")
            assert compiled() == ("-unroll-count=2", "-unroll-count=4")
        assert compiled() == ("-unroll-count=2", "")
    with four:
        assert compiled() == ("", "-unroll-count=4")
        with two:
            assert compiled() == ("-unroll-count=2", "-unroll-count=4")
            assert unrolled() == 2
        assert unrolled() == 1
    assert compiled() == ("", "")
    assert not any(held().values()), held()
    """)


@pytest.mark.redirected
def test_threads_with_other_values_in_each_image_give_what_fresh_processes_give(
    run: Callable[..., str],
) -> None:
    said = run("""
    counts = [argument for argument in expected]
    compiled = []

    def work(seed):
        chance = random.Random(seed)
        for _ in range(12):
            a, b = chance.choice(counts), chance.choice(counts)
            scopes = [context_of(own, a)] if a else []
            scopes += [context_of(other, b)] if b else []
            chance.shuffle(scopes)
            with contextlib.ExitStack() as stack:
                for scope in scopes:
                    stack.enter_context(scope)
                for llvm, argument in chance.sample([(first, a), (second, b)], 2):
                    assert llvm.digests() == expected[argument], (seed, argument)
                    compiled.append((llvm is second, argument))

    in_threads([lambda seed=seed: work(seed) for seed in range(4)])
    assert second.digests() == first.digests() == expected[""]
    assert not any(held().values()), held()
    print(len(compiled), len(set(compiled)))
    """)
    assert said.split() == ["96", "10"], "each value in each image"


ENGINES = ["thread exclusive", "exclusive thread", "exclusive exclusive"]


@pytest.mark.redirected
@pytest.mark.parametrize("engines", ENGINES)
def test_each_image_has_either_engine(
    run: Callable[..., str], monkeypatch: pytest.MonkeyPatch, engines: str
) -> None:
    """Threads never wait for each other in a cycle, in whatever order they enter the images."""
    monkeypatch.setenv("TEST_ENGINES", engines)
    run("""
    assert [own.mechanism.name, other.mechanism.name] == engines_wanted
    counts = [argument for argument in expected]

    contexts = {(engine.index, argument): context_of(engine, *([argument] if argument else []))
                for engine in (own, other) for argument in counts}

    def work(seed):
        chance = random.Random(seed)
        for _ in range(8):
            entered = [(engine, chance.choice(counts)) for engine in chance.choices((own, other), k=3)]
            entered += [(own, chance.choice(counts)), (other, chance.choice(counts))]
            with contextlib.ExitStack() as stack:
                for engine, argument in entered:
                    stack.enter_context(contexts[engine.index, argument])
                for llvm, engine in ((first, own), (second, other)):
                    innermost = [argument for each, argument in entered if each is engine][-1]
                    assert llvm.digests() == expected[innermost], (seed, entered)

    in_threads([lambda seed=seed: work(seed) for seed in range(3)])
    assert second.digests() == first.digests() == expected[""]
    exclusive = context_of(own, "-rng-seed=7", process_wide="exclusive")
    try:
        with exclusive:
            assert own.mechanism.name == "exclusive"
    except optctx.ScopeError as error:
        assert own.mechanism.name == "thread" and "take turns in another LLVM" in str(error), error
    assert not any(held().values()), held()
    """)


@pytest.mark.redirected
@pytest.mark.parametrize("follows", [False, True], ids=["calls", "switches"])
def test_a_task_takes_its_scopes_of_both_images_along(run: Callable[..., str], follows: bool) -> None:
    """Where switches are followed, to whatever it calls; otherwise to what optctx compiles."""
    run(
        """
    from contextvars import copy_context
    from optctx import _native

    follows = sys.argv[3] == "True" and not _native.watch_context_switches()
    _native.simulate_context_switches(follows)

    def switched(function=lambda: None):
        if follows:
            _native.context_switched()
        return function()

    def values():
        return [next(a for a, all in expected.items() if all == llvm.digests()) for llvm in (first, second)]

    two, three = (context_of(own, f"-unroll-count={count}") for count in (2, 3))
    four, five = (context_of(other, f"-unroll-count={count}") for count in (4, 5))
    copies = {}
    with two, four:
        copies[2, 4] = copy_context()
        with three:
            copies[3, 4] = copy_context()
        with five:
            copies[2, 5] = copy_context()
    with five:
        copies[1, 5] = copy_context()

    def run_in(copy, function):
        try:
            return copy.run(switched, function)
        finally:
            switched()

    def work(seed):
        chance = random.Random(seed)
        for _ in range(5):
            (mine, its), copy = chance.choice(list(copies.items()))
            copy = copy.copy()
            assert run_in(copy, unrolled) == mine, (mine, its)
            if follows:
                wanted = [f"-unroll-count={mine}" if mine > 1 else "", f"-unroll-count={its}"]
                assert run_in(copy, values) == wanted
                run_in(copy, three.__enter__)  # on top of what was carried here
                assert run_in(copy, values) == ["-unroll-count=3", wanted[1]]
                assert switched(values) == ["", ""], "another task"
                assert run_in(copy, values) == ["-unroll-count=3", wanted[1]]
                run_in(copy, lambda: three.__exit__(None, None, None))
                assert run_in(copy, values) == wanted
            assert values() == ["", ""] and unrolled() == 1

    in_threads([lambda seed=seed: work(seed) for seed in range(3)])
    _native.simulate_context_switches(False)
    assert not any(held().values()), held()
    """,
        str(follows),
    )


@pytest.mark.redirected
def test_process_wide_changes_of_one_image_are_not_those_of_the_other(run: Callable[..., str]) -> None:
    run("""
    seed = "-rng-seed=7"
    mine = context_of(own, seed, process_wide="exclusive")
    its = context_of(other, seed, process_wide="exclusive")

    def values():
        return [int.from_bytes(ctypes.string_at(engine.options["rng-seed"].record.address
                               + engine.survey.value_offset, 8), "little") for engine in (own, other)]

    assert values() == [0, 0]
    with mine:
        assert values() == [7, 0]
        try:
            with its:  # equal texts, but other changes
                raise SystemError("it was entered")
        except optctx.ScopeError as error:
            assert "in another LLVM" in str(error), error
        entered = threading.Event()
        thread = threading.Thread(target=lambda: its.run(lambda: (entered.set(), seen.append(values()))))
        seen = []
        thread.start()
        assert not entered.wait(0.3), "it waits until the changes of the other image are undone"
        assert values() == [7, 0]
    thread.join()
    assert seen == [[0, 7]] and values() == [0, 0]
    first.set_option("-unroll-count=3")
    assert list(drift()) == ["unroll-count"]
    assert process_wide_values(other)["unroll-count"] == 0 and second.digests() == expected[""]
    assert not any(held().values()), held()
    """)


def test_detaching_from_one_image_leaves_the_other_attached(run: Callable[..., str]) -> None:
    run("""
    with context_of(other, "-unroll-count=4"):
        detach()
        assert attached() is None and attached(other.image) is other
        assert second.digests() == expected["-unroll-count=4"] and first.digests() == expected[""]
        try:
            detach(other.image)
        except optctx.ScopeError as error:
            assert "1 scope is still entered" in str(error)
        else:
            raise SystemError("it was detached")
    scope = context_of(other, "-unroll-count=2")
    detach(other.image)
    assert attached(other.image) is None and second.digests() == expected[""]
    with scope:  # attaches again
        assert attached(other.image) is other
        assert second.digests() == expected["-unroll-count=2"]
    """)


@pytest.mark.redirected
def test_recordings_of_both_images_do_not_mix(run: Callable[..., str]) -> None:
    run("""
    from optctx import record

    with record() as log, context_of(other, "-unroll-count=4"):
        assert second.digests() == expected["-unroll-count=4"]
    assert not log.reads, list(log.reads)[:3]
    with record() as log, context_of(other, "-unroll-count=4"), context_of(own, "-unroll-count=2"):
        assert second.digests() == expected["-unroll-count=4"]
        assert first.digests() == expected["-unroll-count=2"]
    assert log.reads["unroll-count"].value == 2
    """)


def test_contexts_of_another_image_say_where_they_cannot_be_used(run: Callable[..., str]) -> None:
    run("""
    import pickle
    from llvmlite import binding

    four = context_of(other, "-unroll-count=4")
    try:
        four.bind(binding.get_global_context())
    except optctx.UnsupportedImageError as error:
        assert path in str(error), error
    else:
        raise SystemError("it was bound")
    try:
        pickle.dumps(four)
    except optctx.OptionTypeError as error:
        assert path in str(error), error
    else:
        raise SystemError("it was pickled")
    assert four.derive(unroll_max_count=9)._engine is other
    """)


def test_cpp_code_looks_up_in_the_image_that_it_names(
    run: Callable[..., str], tmp_path: pathlib.Path
) -> None:
    source = pathlib.Path(__file__).parents[2] / "programs" / "cpp" / "lookups.cpp"
    library = compile_cpp(source, tmp_path / "lookups.so", *SHARED)
    run(
        """
    cpp = ctypes.CDLL(sys.argv[3])
    for name in ("look_up_at", "path_at", "mixed", "look_up"):
        getattr(cpp, name).restype = ctypes.c_char_p
    cpp.look_up_at.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
    cpp.path_at.argtypes = (ctypes.c_void_p,)
    cpp.mixed.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
    functions = [llvm.library.LLVMPY_ContextCreate for llvm in (first, second)]
    mine, its = (ctypes.cast(function, ctypes.c_void_p).value for function in functions)
    assert cpp.path_at(its) == b"=" + path.encode()
    assert cpp.path_at(mine) == b"=" + ffi.lib._name.encode()
    assert cpp.path_at(id(None)).startswith(b"Unavailable: optctx is loaded but has not attached")
    with context_of(own, "-unroll-count=2"), context_of(other, "-unroll-count=4"):
        assert cpp.look_up_at(mine, b"unroll-count") == b"=2"
        assert cpp.look_up_at(its, b"unroll-count") == b"=4"
        assert cpp.look_up(b"unroll-count", b"unsigned") == b"=2", "llvmlite's where none is named"
        assert b"find the option in the context's image" in cpp.mixed(mine, its)
    assert cpp.look_up_at(its, b"unroll-count") == b"=0"
    """,
        str(library),
    )


def test_more_images_than_there_is_room_for_are_refused() -> None:
    run_python("""
    from optctx import UnsupportedImageError
    from optctx._native import MAX_IMAGES
    from optctx.image.loaded import image_index

    class Made:
        path = "libmade.so"

        def __init__(self, base):
            self.base = base

    images = [Made(base) for base in range(16, 16 + MAX_IMAGES)]
    assert [image_index(each) for each in images] == list(range(MAX_IMAGES))
    assert image_index(images[3]) == 3
    try:
        image_index(Made(1))
    except UnsupportedImageError as error:
        assert "expected at most 8 LLVMs in a process" in str(error) and "libmade.so" in str(error)
    else:
        raise SystemError("it was taken")
    """)
