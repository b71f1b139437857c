"""Options that another library registers: listed, looked up, changed, removed and unloaded."""

from __future__ import annotations

import pathlib
import shutil
import sys
from collections.abc import Callable

import pytest

from optctx import OptionContext, contained, current, drift, info, lookup, registry, watch
from optctx._native import Kind
from optctx.engine.attach import attach
from optctx.engine.registered import _aliases
from optctx.errors import (
    ContainmentWarning,
    OptctxError,
    OptionValueError,
    ProcessWideOptionError,
    UnknownOptionError,
)
from optctx.image.abi import OptionType
from optctx.image.options import RegisteredOption
from tests.support.alone import alone
from tests.support.cpp_build import SHARED, Build
from tests.support.late_options import HELP, INITIAL, NAME, LateLibrary, shown_names
from tests.support.native_interface import NativeScope
from tests.support.processes import forked
from tests.support.scopes import four, in_threads, meanwhile, reset_all, set_option, unrolled

pytestmark = pytest.mark.usefixtures("attached")

GONE = "is no longer registered"
VALUES = (2, 4, 8)


@pytest.fixture
def library(build: Build) -> pathlib.Path:
    # With unique symbols it could not be unloaded.
    return build("late_option.cpp", *SHARED, "-fno-gnu-unique")


def scoped(value: int) -> OptionContext:
    return OptionContext({NAME: value}, process_wide="exclusive")


@forked
def test_an_option_that_is_registered_late_is_like_any_other_that_contexts_refuse(
    library: pathlib.Path,
) -> None:
    attach()
    names, before = set(registry()), OptionContext(unroll_count=2)
    late = LateLibrary(library)
    late.register()
    with pytest.raises(RuntimeError, match=f"'{NAME}' for one thread: code outside LLVM registered it"):
        NativeScope({NAME: "4"})
    assert set(registry()) - names == {NAME}
    with pytest.raises(RuntimeError, match=f"'{NAME}' for one thread: liblate_option.so registered it"):
        NativeScope({NAME: "4"})
    option = registry()[NAME]
    assert (option.type, option.default, option.value, option.help) == ("uint", INITIAL, INITIAL, HELP)
    assert (option.scope, option.storage, option.trust) == ("process", "internal", "code")
    assert "liblate_option.so registered it" in option.reason
    assert info()["images"][0]["refused_options"][NAME] == option.reason
    assert [before[NAME], OptionContext()[NAME], current()[NAME], lookup(NAME, int)] == [INITIAL] * 4
    assert NAME in before
    assert set(before) == set(OptionContext()) == set(registry())
    with pytest.raises(
        ProcessWideOptionError, match=f"'{NAME}' for one thread: liblate_option.so registered it"
    ):
        OptionContext(late_count=4)
    with pytest.raises(UnknownOptionError, match=f"did you mean {NAME}"):
        OptionContext(late_cuont=4)
    with before:  # entered after the registration
        assert (late.read(), lookup(NAME), lookup("unroll-count")) == (INITIAL, INITIAL, 2)
    set_option(NAME, "9")
    assert [before[NAME], lookup(NAME), late.read()] == [9] * 3


def check_scopes(library: pathlib.Path) -> None:
    """Threads whose contexts give the option different values."""
    late = LateLibrary(library)
    late.register()

    def work(value: int) -> None:
        context = scoped(value)
        for _ in range(5):
            with context:
                assert (late.read(), registry()[NAME].value, lookup(NAME)) == (value, value, str(value))

    in_threads([lambda value=value: work(value) for value in (*VALUES, VALUES[0])])  # type: ignore[misc]
    assert late.read() == INITIAL
    wrong = OptionContext({NAME: "x"}, process_wide="exclusive")
    with pytest.raises(OptionValueError, match="'x' value invalid for uint argument"):
        wrong.__enter__()
    assert (late.read(), registry()[NAME].occurrences) == (INITIAL, 0)


@forked
def test_scopes_reach_the_librarys_own_code(library: pathlib.Path) -> None:
    check_scopes(library)


@forked
def test_a_thread_that_undoes_the_change_last_does_not_need_the_gil_for_what_python_made(
    library: pathlib.Path,
) -> None:
    """It holds a lock meanwhile, for which a thread with the GIL may wait."""
    native = attach().registered.native
    LateLibrary(library).register()
    references = sys.getrefcount(native)
    contexts = [scoped(value) for value in VALUES]
    assert [len(contexts), sys.getrefcount(native)] == [len(VALUES), references]


@alone
def test_an_option_that_was_registered_before_attaching_is_no_other(library: pathlib.Path) -> None:
    late = LateLibrary(library)
    late.register()
    assert NAME not in [option.name for option in attach().survey.options]
    assert "liblate_option.so registered it" in registry()[NAME].reason
    with scoped(8):
        assert late.read() == 8
    late.remove()
    assert NAME not in registry()


@forked
def test_what_holds_an_option_that_was_removed_gets_an_error(library: pathlib.Path) -> None:
    late, before = LateLibrary(library), OptionContext()
    late.register()
    context, view = scoped(4), registry()[NAME]
    uses: list[Callable[[], object]] = [
        lambda: view.value,
        lambda: view.help,
        lambda: registry()[NAME],
        lambda: context[NAME],
        lambda: before[NAME],
        lambda: lookup(NAME),
        lambda: context.__enter__(),
        lambda: OptionContext(late_count=4),
        lambda: scoped(4),
        lambda: hash(context),
    ]
    with context:
        assert late.read() == 4
        late.remove()
        assert late.read() == 4
    assert late.read() == 4  # nothing was written to it any more
    for use in uses:
        with pytest.raises(UnknownOptionError, match=GONE):
            use()
    assert NAME not in registry()
    assert NAME not in context
    assert "late-count" in repr(context)
    assert not drift()
    late.register()
    with context:  # the same option again
        assert (late.read(), view.value) == (4, 4)
    assert late.read() == INITIAL


@alone  # in this process it may be loaded twice
def test_a_library_that_was_unloaded_leaves_nothing_that_is_read(library: pathlib.Path) -> None:
    """LLVM's map leads to memory that is not there any more, as stock LLVM's does after dlclose."""
    late = LateLibrary(library)
    late.register()
    context, view = scoped(4), registry()[NAME]
    late.unload()
    for use in (lambda: view.value, lambda: context.__enter__(), lambda: OptionContext()[NAME]):
        with pytest.raises(UnknownOptionError, match=GONE):
            use()
    assert NAME not in registry()
    assert not drift()
    with four():
        assert current()["unroll-count"] == 4


@alone
def test_a_library_that_was_unloaded_before_attaching_keeps_nobody_from_it(library: pathlib.Path) -> None:
    """The pointer that it leaves in LLVM's map was a layout that is not known, and attaching failed."""
    late = LateLibrary(library)
    late.register()
    late.unload()
    assert NAME not in registry()
    with four():
        assert (unrolled(), current()["unroll-count"]) == (4, 4)
    assert not drift()


@forked
def test_changes_of_it_are_noticed_and_resets_reach_it(library: pathlib.Path) -> None:
    late = LateLibrary(library)
    late.register()
    with watch(lambda event: None) as watcher:
        set_option(NAME, "9")
    assert [(event.name, event.before, event.after, event.exact) for event in watcher.events] == [
        (NAME, INITIAL, 9, True)
    ]
    assert (drift()[NAME].registered, drift()[NAME].value, late.read()) == (INITIAL, 9, 9)
    with contained(), pytest.warns(ContainmentWarning, match=f"'{NAME}' was set for the whole process"):
        set_option(NAME, "5")
    assert (late.read(), registry()[NAME].occurrences) == (5, 2)
    with contained():
        reset_all()
        assert late.read() == 5  # as every option that contexts refuse
    reset_all()
    assert (late.read(), dict(drift())) == (INITIAL, {})


def test_an_alias_of_an_alias_is_a_name_of_the_option_that_both_lead_to() -> None:
    of = {"own": 0, "alias": 1, "alias-of-alias": 2}  # name -> address of what it stands for
    made = {
        address: RegisteredOption((name,), address, None, OptionType(Kind.uint32), 0, alias_of=target)
        for address, (name, target) in enumerate(of.items(), 1)
    }
    assert _aliases(made) == {1: ["alias", "alias-of-alias"]}


@forked
def test_threads_may_register_and_remove_beside_everything_else(library: pathlib.Path) -> None:
    late = LateLibrary(library)
    late.register()
    late.remove()
    names = len(registry())

    def use() -> None:
        try:
            assert registry()[NAME].value == INITIAL
            with scoped(4):
                assert lookup(NAME) == "4"
        except UnknownOptionError:
            pass
        assert len(set(registry())) in (names, names + 1)
        with four():
            assert current()["unroll-count"] == 4
        assert not drift()

    with meanwhile(use, use):
        late.register_and_remove(20_000)
    assert NAME not in registry()


@forked
def test_an_option_of_another_layout_is_listed_without_a_value(library: pathlib.Path) -> None:
    late = LateLibrary(library)
    late.register("misplaced", misplaced=-8)
    option = registry()["misplaced"]
    assert (option.type, option.value, option.scope) == ("other", None, "process")
    with pytest.raises(ProcessWideOptionError, match="not even process-wide"):
        OptionContext(misplaced=1, process_wide="exclusive")
    assert OptionContext()["misplaced"] is None
    late.remove()
    with pytest.raises(OptctxError, match=GONE):
        OptionContext(misplaced=1)


@forked
def test_an_option_with_a_table_of_its_library_has_its_type_and_value(library: pathlib.Path) -> None:
    late = LateLibrary(library)
    late.register()
    late.export_table()
    option = registry()[NAME]
    assert (option.type, option.value, option.default, option.scope) == ("uint", INITIAL, INITIAL, "process")
    found, own = (attach().look_up(name) for name in (NAME, "unroll-count"))
    assert found is not None
    assert own is not None
    # One of its virtual functions is the library's own.
    assert found.flag_default_index == own.flag_default_index > 0
    late.remove()


@forked
def test_cpp_looks_it_up_on_any_thread_before_python_has(library: pathlib.Path) -> None:
    late = LateLibrary(library)
    attach()
    assert late.look_up() is None
    late.register()
    assert late.look_up() == INITIAL
    set_option(NAME, "9")
    assert late.look_up() == 9
    late.remove()
    assert late.look_up() is None  # by a handle that was good before
    late.register()
    with scoped(4):
        assert late.look_up() == 4
    assert late.look_up() == INITIAL


@forked
def test_cpp_finds_by_the_same_object_what_another_library_has_registered_since(
    library: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    late, another = LateLibrary(library), LateLibrary(pathlib.Path(shutil.copy(library, tmp_path)))
    late.register()
    assert late.look_up() == INITIAL
    late.remove()
    another.register()
    set_option(NAME, "9")
    assert (another.read(), late.look_up()) == (9, 9)
    another.remove()
    assert late.look_up() is None


@forked
def test_the_map_that_a_scope_shows_follows_what_is_registered(library: pathlib.Path) -> None:
    late = LateLibrary(library)
    attach()
    late.register("second")
    late.remove()
    late.register("first")
    with contained():
        assert {"first", "second"} & shown_names() == {"first"}
        late.remove()
        late.register("second")  # where it was before: the head of LLVM's map is the same
        assert {"first", "second"} & shown_names() == {"second"}
