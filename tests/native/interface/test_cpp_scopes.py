"""Scopes from C++ beside Python's, held against fresh processes and against what Python's own scopes do."""

from __future__ import annotations

import ctypes
import os
import pathlib
from collections.abc import Callable, Iterator
from ctypes import CFUNCTYPE, c_char_p, c_size_t
from functools import partial

import pytest

import optctx
from optctx import OptionContext, ScopeError, current, info, registry
from tests.support.alone import alone
from tests.support.cpp_build import SHARED, Build
from tests.support.native_interface import NativeScope
from tests.support.rows import rows
from tests.support.scopes import both, in_threads, meanwhile, scopes_become, unrolled

BAD_VALUE, PROCESS_WIDE = "4", "5"  # of optctx_status


class Scopes:
    """tests/programs/cpp/scopes.cpp, loaded."""

    def __init__(self, path: pathlib.Path) -> None:
        self._library = ctypes.CDLL(str(path))

    def call(self, function: str, *given: str | int, body: Callable[[], object] | None = None) -> None:
        """Call a function, which may call `body`. Raise what that raises, or RuntimeError with its words."""
        raised: list[BaseException] = []

        def call_back() -> None:
            try:
                assert body is not None
                body()
            except BaseException as error:  # handed on: ctypes would print it
                raised.append(error)

        native = self._library[function]
        native.restype = c_char_p
        words = [c_size_t(each) if isinstance(each, int) else os.fsencode(each) for each in given]
        answer = native(*words, *([] if body is None else [CFUNCTYPE(None)(call_back)]))
        if raised:
            raise raised[0]
        if answer:
            raise RuntimeError(answer.decode())

    def inside(self, name: str, text: str, body: Callable[[], object]) -> None:
        """Call `body` in `optctx::Scope scope{{name, text}}`."""
        self.call("in_scope", name, text, len(os.fsencode(text)), body=body)


@pytest.fixture(scope="session")
def library(build: Build) -> pathlib.Path:
    flags = ("-Wshadow", "-Wconversion", "-Wsign-conversion", "-Wold-style-cast")  # as out-of-tree code has
    return build("scopes.cpp", *SHARED, "-O0", *flags)


@pytest.fixture
def cpp(library: pathlib.Path) -> Iterator[Scopes]:
    registry()
    yield Scopes(library)
    assert info()["active_scopes"] == 0, "every scope was left"


def test_python_sees_what_cpp_has_set(cpp: Scopes) -> None:
    def within() -> None:
        assert both() == (4, 4)
        assert current() == OptionContext({"unroll-count": 4, "unroll-max-count": 9}, base=outer)
        assert dict(current().overrides) == {"unroll-max-count": 9, "unroll-count": 4}
        assert optctx.lookup("unroll-count", int) == 4
        with pytest.raises(ScopeError, match="it is not the innermost context that this thread is inside"):
            outer.with_sets()
        with OptionContext({"unroll-runtime": True}) as inner:
            assert current() is inner
            assert (unrolled(), inner["unroll-max-count"]) == (4, 9)
        with pytest.raises(ScopeError, match="it is not the innermost scope of this thread"):
            outer.__exit__(None, None, None)
        counts, wrapped = [], optctx.wrap(unrolled)
        in_threads([lambda: counts.extend([unrolled(), wrapped()])])
        assert counts == [1, 4], "a thread takes nothing along but what is handed on"
        with pytest.raises(ScopeError, match="cannot detach from LLVM: 2 scopes are still entered"):
            optctx.detach()

    outer = OptionContext({"unroll-max-count": 9})
    with outer:
        cpp.inside("unroll-count", "4", within)
        assert current() is outer
        assert both() == (1, 1)
    assert both() == (1, 1)


def test_every_option_takes_from_cpp_what_it_takes_from_python(cpp: Scopes) -> None:
    """The same state, or a refusal in both, of LLVM in the same words, for texts that some options take."""
    context: OptionContext | None
    refused = set()
    words = ""
    for name, option in registry().items():
        text = next(iter(option.choices), None) or {"bool": "true", "boolOrDefault": "true", "char": "x"}.get(
            option.type, "3"
        )
        try:
            context = OptionContext({name: text})
        except optctx.OptctxError as error:
            context, words = None, str(error)

        def within(context: OptionContext | None = context, name: str = name) -> None:
            seen = current()
            assert context is not None
            assert seen == context, name
            assert dict(seen.overrides) == dict(context.overrides)

        if context is not None:
            cpp.inside(name, text, within)
            continue
        with pytest.raises(RuntimeError) as caught:
            cpp.inside(name, text, within)
        status, _, said = str(caught.value).partition(": ")
        assert said.partition("LLVM says: ")[2] in words
        refused.add(status)
    assert refused == {BAD_VALUE, PROCESS_WIDE}


@rows(
    ("name", "text", "message"),
    [
        ("unrol-count", "4", "2: no LLVM option is called 'unrol-count'"),
        ("unroll-count", "x", "4: cannot set 'unroll-count': LLVM says: .*'x' value invalid for uint arg"),
        ("stats", "true", "5: cannot set 'stats' for one thread: .*; leave it out, or"),
        ("cfg-func-name", "\udcc3", "4: .*: the text of an option is UTF-8"),
        ("cfg-func-name", "a\0b", "4: cannot set 'cfg-func-name': the text contains NUL"),
        ("regbankselect-fast", "2", "4: .* LLVM does not allow a value here"),
    ],
)  # fmt: skip
def test_a_refusal_says_why_and_changes_nothing(
    cpp: Scopes, capfd: pytest.CaptureFixture[str], name: str, text: str, message: str
) -> None:
    with pytest.raises(RuntimeError, match=f"^{message}"):
        cpp.inside(name, text, lambda: pytest.fail("it was entered"))
    assert capfd.readouterr() == ("", ""), "LLVM prints nothing"
    assert current() == OptionContext()


def test_typed_values_are_what_their_texts_are(cpp: Scopes) -> None:
    seen: list[object] = []
    for name, kind, value in [
        ("enable-gvn-hoist", "bool", True),
        ("inline-threshold", "int", -3),
        ("asan-mapping-offset", "std::uint64_t", 2**64 - 1),
        ("cold-branch-ratio", "float", 0.10000000149011612),
        ("chr-bias-threshold", "double", 0.1),
    ]:
        cpp.call("in_typed", name, kind, body=lambda name=name: seen.append(current()[name]))  # type: ignore[misc]
        assert seen.pop() == value
    with pytest.raises(RuntimeError, match=r"^4: .*LLVM says: .* 'true' value invalid for uint argument!"):
        cpp.call("in_typed", "unroll-count", "bool", body=lambda: seen.append("entered"))
    with pytest.raises(RuntimeError, match=r"^4: cannot set 'unroll-count' to several values: it takes one"):
        cpp.call("in_elements", "unroll-count", "1", "2", body=lambda: seen.append("entered"))
    option = "amdgpu-use-native"
    for elements in (("sin", "cos"), ("sin,cos", "tan")):
        cpp.call("in_elements", option, *elements, body=lambda: seen.append(current()[option]))
        assert seen.pop() == ",".join(elements).split(",")
    assert seen == []


def test_scopes_end_with_their_blocks_and_where_an_exception_unwinds_them(cpp: Scopes) -> None:
    counts: list[object] = []
    cpp.call("in_nested", body=lambda: counts.append(current()["unroll-max-count"]))
    assert counts == [2, 3, 2]
    with OptionContext({"unroll-count": 3}, base="defaults"):
        with pytest.raises(RuntimeError, match=r"^exception: unwound$"):
            cpp.call("unwound", body=lambda: counts.append(unrolled()))
        assert unrolled() == 3
        with pytest.raises(KeyError, match="of Python's"):  # through the frames of C++ and of ctypes
            cpp.inside("unroll-count", "8", lambda: {"a": 1}["of Python's"])
        assert unrolled() == 3
    assert counts.pop() == 8


def test_scopes_end_in_any_order_and_each_on_its_own_thread(
    cpp: Scopes, capfd: pytest.CaptureFixture[str]
) -> None:
    cpp.call("enter", "unroll-count", "4")
    cpp.call("enter", "unroll-max-count", "9")
    cpp.call("leave", 0)
    assert (current()["unroll-count"], current()["unroll-max-count"]) == (4, 9), "nothing was changed"
    with OptionContext({"unroll-runtime": True}):
        cpp.call("leave", 1)
        assert (unrolled(), current()["unroll-max-count"]) == (4, 9), "the scope inside goes on"
    assert (unrolled(), current()["unroll-count"], current()["unroll-max-count"]) == (1, 0, 0)
    in_threads([partial(cpp.call, "enter", "unroll-count", "8")])
    scopes_become(0)  # a thread that ends leaves its scopes
    cpp.call("forget")
    assert "it was entered on another thread" in capfd.readouterr().err
    cpp.call("destroyed_elsewhere")
    assert capfd.readouterr().err.count("it was entered on another thread") == 2
    assert both() == (1, 1)


def test_a_scope_that_cannot_be_left_says_why(cpp: Scopes) -> None:
    def refuses(words: str) -> None:
        with pytest.raises(RuntimeError, match=f"^6: cannot leave a scope: {words}"):
            scope.leave()

    scope = NativeScope({"unroll-count": "4"})
    refuses("this thread is not inside it")  # it has not been entered at all
    with scope:
        in_threads([partial(refuses, "it was entered on another thread; leave it on that thread")])
        assert (unrolled(), current()["unroll-count"]) == (4, 4), "nothing was changed"
    refuses(".* was left already")


def test_threads_without_python_have_scopes_while_pythons_come_and_go(cpp: Scopes) -> None:
    def churn() -> None:
        with OptionContext({"unroll-count": 40}):
            assert current()["unroll-count"] == 40

    with meanwhile(churn, churn):
        cpp.call("on_threads", 4, 300)


@alone
def test_without_llvm_attached_a_scope_says_so(library: pathlib.Path) -> None:
    cpp = Scopes(library)
    with pytest.raises(RuntimeError, match=r"^1: optctx is loaded but has not attached to LLVM yet"):
        cpp.inside("unroll-count", "4", lambda: pytest.fail("it was entered"))
    registry()
    optctx.detach()
    with pytest.raises(RuntimeError, match=r"^1: cannot enter a scope: optctx has detached from this LLVM"):
        cpp.inside("unroll-count", "4", lambda: pytest.fail("it was entered"))
    assert info()["active_scopes"] == 0
    registry()
    cpp.inside("unroll-count", "4", lambda: None)
