"""Bad input: one clear Python error, nothing from LLVM on standard error, nothing changed."""

from __future__ import annotations

import pathlib
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from llvmlite.binding import create_context, parse_assembly
from support import UNROLLED_ONCE, process_state, run_python, unrolled

from optctx import (
    CompileCache,
    OptctxError,
    OptionContext,
    OptionTypeError,
    OptionValueError,
    ProcessWideOptionError,
    ScopeError,
    UnknownOptionError,
    current,
    propagating,
    registry,
    run_passes,
)

# (what is done, the class of the error, words that its message has)
BAD: dict[str, tuple[Callable[[], object], type[OptctxError], list[str]]] = {
    "unknown option": (
        lambda: OptionContext({"unrol-count": 4}),
        UnknownOptionError,
        ["'unrol-count'", "did you mean unroll-count"],
    ),
    "unknown option, nothing near": (
        lambda: OptionContext({"qqqqqqqqqqq": 4}),
        UnknownOptionError,
        ["'qqqqqqqqqqq'", "optctx list"],
    ),
    "name with a dash in front": (
        lambda: OptionContext({"-unroll-count": 4}),
        UnknownOptionError,
        ["did you mean unroll-count"],
    ),
    "name that is not text": (
        lambda: OptionContext({4: 4}),  # type: ignore[dict-item]
        UnknownOptionError,
        ["an option name is a string"],
    ),
    "unknown keyword": (lambda: OptionContext(unrol_count=4), UnknownOptionError, ["unroll-count"]),
    "unknown argument": (
        lambda: OptionContext.from_args(["-unrol-count=4"]),
        UnknownOptionError,
        ["unroll-count"],
    ),
    "unknown lookup": (lambda: current()["unrol-count"], UnknownOptionError, ["unroll-count"]),
    "unknown derived option": (lambda: current().derive(unrol_count=4), UnknownOptionError, ["unroll-count"]),
    "text for a number": (
        lambda: OptionContext({"unroll-count": "four"}),
        OptionValueError,
        ["cannot set 'unroll-count' to 'four'", "'four' value invalid for uint argument!"],
    ),
    "empty text for a number": (
        lambda: OptionContext({"unroll-count": ""}),
        OptionValueError,
        ["'' value invalid for uint argument!"],
    ),
    "negative number for unsigned": (
        lambda: OptionContext({"unroll-count": -1}),
        OptionValueError,
        ["'-1' value invalid for uint argument!"],
    ),
    "number too large": (
        lambda: OptionContext({"unroll-count": 2**32}),
        OptionValueError,
        ["'4294967296' value invalid for uint argument!"],
    ),
    "huge number": (
        lambda: OptionContext({"inline-threshold": 10**4000}),
        OptionValueError,
        ["value invalid"],
    ),
    "number too large to be written": (
        lambda: OptionContext({"inline-threshold": 10**5000}),
        OptionValueError,
        ["cannot set 'inline-threshold'"],
    ),
    "number too large for a float": (
        lambda: OptionContext({"chr-bias-threshold": 10**400}),
        OptionValueError,
        ["cannot set 'chr-bias-threshold'"],
    ),
    "number too large for 64 bits": (
        lambda: OptionContext({"inline-max-stacksize": 2**64}),
        OptionValueError,
        ["value invalid for ulong argument!"],
    ),
    "text for a flag": (
        lambda: OptionContext({"vectorize-loops": "yes"}),
        OptionValueError,
        ["'yes' is invalid value for boolean argument! Try 0 or 1"],
    ),
    "text for a float": (
        lambda: OptionContext({"chr-bias-threshold": "x"}),
        OptionValueError,
        ["'x' value invalid for floating point argument!"],
    ),
    "no such choice": (
        lambda: OptionContext({"x86-asm-syntax": "arm"}),
        OptionValueError,
        ["Cannot find option named 'arm'!"],
    ),
    "no such choice in a list": (
        lambda: OptionContext({"loop-interchange-profitabilities": ["cache", "x"]}),
        OptionValueError,
        ["Cannot find option named 'x'!"],
    ),
    "no such bit": (
        lambda: OptionContext({"pgo-analysis-map": "x"}),
        OptionValueError,
        ["Cannot find option named 'x'!"],
    ),
    "comma in an element of a list that LLVM splits": (
        lambda: OptionContext({"amdgpu-use-native": ["sin,cos"]}),
        OptionValueError,
        ["'amdgpu-use-native'", "'sin,cos'", "give each part as an element"],
    ),
    "bad number in a list": (
        lambda: OptionContext({"print-after-pass-number": [1, "x"]}),
        OptionValueError,
        ["'x' value invalid for uint argument!"],
    ),
    "value where none is allowed": (
        lambda: OptionContext({"arm-restrict-it": "x"}),
        OptionValueError,
        ["does not allow a value"],
    ),
    "text with NUL": (
        lambda: OptionContext({"asan-memory-access-callback-prefix": "a\0b"}),
        OptionValueError,
        ["without NUL"],
    ),
    "text that is not Unicode": (
        lambda: OptionContext({"asan-memory-access-callback-prefix": "\udc80"}),
        OptionValueError,
        ["UTF-8"],
    ),
    "bad regular expression": (
        lambda: OptionContext({"internalize-public-api-list": "a", "pass-remarks": "("}),
        OptionValueError,
        ["cannot set 'pass-remarks'"],
    ),
    "wrong type for a number": (
        lambda: OptionContext({"unroll-count": 4.0}),
        OptionTypeError,
        ["type uint", "an int", "found float"],
    ),
    "flag for a number": (
        lambda: OptionContext({"unroll-count": True}),
        OptionTypeError,
        ["type uint", "found bool"],
    ),
    "None": (lambda: OptionContext({"unroll-count": None}), OptionTypeError, ["found NoneType"]),
    "number for a flag": (
        lambda: OptionContext({"vectorize-loops": 1}),
        OptionTypeError,
        ["type bool", "found int"],
    ),
    "bytes for text": (
        lambda: OptionContext({"asan-memory-access-callback-prefix": b"a"}),
        OptionTypeError,
        ["type string", "found bytes"],
    ),
    "number for a choice": (
        lambda: OptionContext({"x86-asm-syntax": 1}),
        OptionTypeError,
        ["type enum", "found int"],
    ),
    "number for a list": (
        lambda: OptionContext({"print-after": 3}),
        OptionTypeError,
        ["type list", "found int"],
    ),
    "wrong type in a list": (
        lambda: OptionContext({"print-after-pass-number": [1, 2.0]}),
        OptionTypeError,
        ["found float"],
    ),
    "lookup under another type": (
        lambda: current().get("unroll-count", str),
        OptionTypeError,
        ["'unroll-count' as str", "type uint"],
    ),
    "overrides that are no mapping": (
        lambda: OptionContext(["-unroll-count=4"]),  # type: ignore[arg-type]
        OptionTypeError,
        ["of type list", "from_args"],
    ),
    "argument without a dash": (
        lambda: OptionContext.from_args(["unroll-count=4"]),
        OptionValueError,
        ["-name"],
    ),
    "a dash alone": (lambda: OptionContext.from_args("- -unroll-count=4"), OptionValueError, ["'-'"]),
    "argument without its value": (
        lambda: OptionContext.from_args(["-unroll-count"]),
        OptionValueError,
        ["LLVM requires one"],
    ),
    "argument that is not text": (
        lambda: OptionContext.from_args(["-unroll-count", 4]),  # type: ignore[list-item]
        OptionTypeError,
        ["found 4 of type int"],
    ),
    "open quote": (lambda: OptionContext.from_args("-print-after='a"), OptionValueError, ["cannot read"]),
    "generator function": (lambda: OptionContext()(lambda_generator), OptionTypeError, ["use `with` in it"]),
    "leaving without having entered": (
        lambda: OptionContext().__exit__(None, None, None),
        ScopeError,
        ["this thread is not inside it"],
    ),
}


def lambda_generator():  # type: ignore[no-untyped-def]
    yield


@pytest.mark.parametrize("what", BAD)
def test_it_is_one_clear_error_and_no_more(what: str, capfd: pytest.CaptureFixture[str]) -> None:
    action, error, words = BAD[what]
    before, context = process_state(), current()
    with pytest.raises(OptctxError) as raised:
        action()
    assert type(raised.value) is error
    for word in words:
        assert word in str(raised.value)
    assert "\n" not in str(raised.value)
    assert capfd.readouterr() == ("", "")
    assert process_state() == before
    assert current() == context
    assert unrolled() == UNROLLED_ONCE


def generate() -> Iterator[None]:
    yield


LONG = "x" * 1_000_000
generate.__qualname__ = LONG
BLANK = OptionContext(base="defaults")
# Quoted by LLVM, in the repr of a context or of another object, or by its name.
LONG_INPUT: dict[str, Callable[[], object]] = {
    **{
        f"{name} ({way})": lambda name=name, value=value: OptionContext({name: value})
        for name in ("unroll-count", "chr-bias-threshold", "x86-asm-syntax", "spirv-ext", "pgo-analysis-map")
        for way, value in {
            "text": LONG,
            "a list": [LONG],
            "a number": 10**20_000,
            "bytes": b"x" * 10**6,
        }.items()
    },
    "a number in exclusive mode": lambda: OptionContext({"stats": LONG}, process_wide="exclusive").run(int),
    "a name": lambda: OptionContext({LONG: 1}),
    "an argument": lambda: OptionContext.from_args([f"-unroll-count={LONG}"]),
    "a bare argument": lambda: OptionContext.from_args([LONG]),
    "a lookup": lambda: BLANK[LONG],
    "a type": lambda: BLANK.get("unroll-count", type(LONG, (), {})),
    "an attribute": lambda: getattr(BLANK, LONG),
    "a function": lambda: BLANK.run(generate),
    "a generator": lambda: OptionContext({"print-after": [LONG]}).run(lambda: generate()),
    "a context": lambda: OptionContext({"print-after": [LONG]}).__exit__(None, None, None),
    "a context of another block": lambda: OptionContext({"print-after": [LONG]}).with_sets(),
    "unread": lambda: OptionContext({"print-after": [LONG]}, unread="error").run(int),
    "a mode": lambda: BLANK.bind(create_context(), on_mismatch=LONG),  # type: ignore[arg-type]
    "an executor": lambda: propagating(LONG),  # type: ignore[arg-type]
    "a pipeline": lambda: run_passes(parse_assembly("", create_context()), LONG),
    "an open pipeline": lambda: run_passes(parse_assembly("", create_context()), "function(" * 100_000),
    "words of a pipeline": lambda: run_passes(parse_assembly("", create_context()), "x " * 100_000),
    "a module": lambda: CompileCache().compile(LONG, "verify"),
}


@pytest.mark.redirected
@pytest.mark.parametrize("what", LONG_INPUT)
def test_no_message_is_long_because_the_input_is(what: str) -> None:
    with pytest.raises((OptctxError, AttributeError, TypeError)) as raised:
        LONG_INPUT[what]()
    text = "".join(traceback.format_exception(raised.value))
    assert 20 < len(str(raised.value)) < 3000
    assert text.count("x" * 1000) < 4  # in the exceptions that led to it


@pytest.mark.parametrize(
    ("error", "also"),
    [
        (UnknownOptionError, KeyError),
        (OptionValueError, ValueError),
        (OptionTypeError, TypeError),
        (ScopeError, RuntimeError),
    ],
)
def test_each_error_is_also_the_built_in_one(error: type[OptctxError], also: type[Exception]) -> None:
    assert issubclass(error, OptctxError)
    assert issubclass(error, also)


def test_no_process_wide_option_can_be_set_and_each_says_why(capfd: pytest.CaptureFixture[str]) -> None:
    before = process_state()
    refused = [option for option in registry().values() if option.scope == "process"]
    assert len(refused) > 30
    for option in refused:
        with pytest.raises(ProcessWideOptionError) as raised:
            OptionContext({option.name: "true"} if option.type != "list" else {option.name: ["x"]})
        assert raised.value.name == option.name
        assert raised.value.reason == option.reason
        assert option.reason in str(raised.value)
    assert capfd.readouterr() == ("", "")
    assert process_state() == before


def test_an_error_inside_a_scope_leaves_the_scope_as_it_was(capfd: pytest.CaptureFixture[str]) -> None:
    with OptionContext({"unroll-count": 4}) as context:
        for bad in ({"unroll-count": "x"}, {"x86-asm-syntax": "x"}, {"pass-remarks": "("}):
            with pytest.raises(OptionValueError):
                OptionContext(bad)
        assert current() is context
        assert unrolled() == 4
    assert unrolled() == UNROLLED_ONCE
    assert capfd.readouterr() == ("", "")


def test_a_good_override_beside_a_bad_one_has_no_effect() -> None:
    with pytest.raises(OptionValueError):
        OptionContext({"unroll-count": 4, "inline-threshold": "x"})
    assert current()["unroll-count"] == 0
    assert unrolled() == UNROLLED_ONCE


def test_no_llvm_in_the_process_is_an_error_and_an_entry_in_the_report() -> None:
    run_python("""
        import sys
        for name in ("llvmlite", "llvmlite.binding", "llvmlite.binding.ffi"):
            sys.modules[name] = None  # importing it fails, as without llvmlite
        import optctx
        for use in (optctx.registry, optctx.current, lambda: optctx.OptionContext({"unroll-count": 4})):
            try:
                use()
            except optctx.UnsupportedImageError as error:
                assert "no LLVM in this process" in str(error) and "install llvmlite" in str(error)
            else:
                raise AssertionError("attached to nothing")
        assert "no LLVM in this process" in optctx.info()["error"]
        assert optctx.info()["images"] == []
    """)


def test_a_library_that_does_not_check_out_is_an_error_and_stays_as_it_is() -> None:
    run_python("""
        import ctypes.util, os
        from support import changed_code
        import optctx
        from optctx import _native
        from optctx.image import loaded
        other = next(path for path, base in _native.loaded_libraries() if "libstdc++" in path)
        loaded._library_path = lambda: other  # a library that is no LLVM
        try:
            optctx.registry()
        except optctx.UnsupportedImageError as error:
            assert other in str(error) or os.path.realpath(other) in str(error), error
        else:
            raise AssertionError("attached to a library that is no LLVM")
        assert optctx.info()["images"] == []
        assert optctx.info()["error"]
        assert changed_code() == []
    """)


@pytest.mark.parametrize("kind", ["pipe", "directory", "device"])
def test_a_library_whose_file_became_something_else_is_an_error(kind: str, tmp_path: pathlib.Path) -> None:
    run_python(f"""
        import ctypes, os, signal
        import optctx
        from optctx import _native
        from optctx.image import loaded
        signal.alarm(20)  # waiting for what another process writes into a pipe would have no end
        other = next(path for path, base in _native.loaded_libraries() if "libstdc++" in path)
        path = {str(tmp_path / "library.so")!r}
        with open(other, "rb") as source, open(path, "wb") as target:
            target.write(source.read())
        library = ctypes.CDLL(path)
        os.unlink(path)
        become = dict(pipe=os.mkfifo, directory=os.mkdir, device=lambda path: os.symlink("/dev/null", path))
        become[{kind!r}](path)
        loaded._library_path = lambda: path
        _native.loaded_libraries = loaded.loaded_libraries = lambda: [(path, library._handle)]
        for use in (optctx.attach, lambda: optctx.OptionContext(unroll_count=4), optctx.registry):
            try:
                use()
            except optctx.UnsupportedImageError as error:
                assert path in str(error) and "not a regular file" in str(error), error
            else:
                raise AssertionError("attached to what is no file")
        assert "not a regular file" in optctx.info()["error"]
    """)


HUGE = 10**5000  # which repr() refuses to write out


class Unshown:
    """As a caller's class may be."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


@pytest.mark.parametrize("odd", [HUGE, [HUGE], Unshown()], ids=["int", "list", "class"])
def test_what_cannot_be_shown_is_an_error_of_ours_all_the_same(odd: Any) -> None:
    attempts: list[Callable[[], object]] = [
        lambda: OptionContext({"vectorize-loops": odd}),
        lambda: OptionContext({"pgo-analysis-map": odd}),
        lambda: OptionContext({}, base=odd),
        lambda: OptionContext({"unroll-count": 1}, process_wide=odd),
        lambda: OptionContext.from_args([odd]),
        lambda: registry()[odd if odd.__hash__ else HUGE],
    ]
    for attempt in attempts:
        with pytest.raises(OptctxError) as caught:
            attempt()
        assert type(caught.value) is not OptctxError
        assert len(str(caught.value)) < 1000
