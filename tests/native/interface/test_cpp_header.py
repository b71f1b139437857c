"""The installed C++ header as other code uses it: the example, processes without optctx, compilers' flags."""

from __future__ import annotations

import ctypes
import functools
import os
import pathlib
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

import optctx
from optctx import OptionContext, registry
from optctx.compiling import FreshProcess, Job, compile_job
from tests.support.cpp_build import ROOT, SHARED, compile_cpp
from tests.support.ir_texts import SCALE, X86
from tests.support.processes import run_python
from tests.support.scopes import in_threads

SOURCES = pathlib.Path(__file__).parents[2] / "programs" / "cpp"
EXAMPLE = ROOT / "examples" / "cpp"


Build = Callable[..., pathlib.Path]


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Compile a file once for the same flags, for all tests that ask; libraries as the README names them."""
    folder = tmp_path_factory.mktemp("cpp")

    @functools.cache
    def build(source: pathlib.Path, *flags: str) -> pathlib.Path:
        name = f"lib{source.stem}.so" if SHARED[0] in flags else source.stem
        return compile_cpp(source, folder / name, *flags)

    return build


@pytest.mark.parametrize("name", ["scopes", "lookup"])
def test_the_example_does_what_its_readme_says(build: Build, name: str) -> None:
    library = build(EXAMPLE / f"{name}.cpp", *SHARED)
    programs = (EXAMPLE / "README.md").read_text().split("```python\n")[1:]
    program = next(each for each in programs if f"./lib{name}.so" in each.partition("```")[0])
    script, _, rest = program.partition("```")
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=library.parent, capture_output=True, text=True, timeout=120
    )
    assert (done.stdout, done.stderr) == (rest.split("```\n")[1], "")


def test_no_exception_leaves_a_function_of_the_example(build: Build) -> None:
    """It would end a process that has imported optctx, and not used it yet."""
    library = build(EXAMPLE / "lookup.cpp", *SHARED)
    said = run_python(
        f"""
        import ctypes
        import optctx
        lookup = ctypes.CDLL({str(library)!r})
        words, count = ctypes.create_string_buffer(500), ctypes.c_uint(7)
        print(lookup.planned_unrolling(100, ctypes.byref(count), words, len(words)), count.value, words.value)
        print(lookup.look_up_unsigned(b"unroll-count", words, len(words)), words.value)
        """
    )
    reason = b"optctx is loaded but has not attached to LLVM yet: call optctx.attach() from Python before"
    assert said == f"3 7 {reason!r}\n3 {reason!r}\n"


@pytest.mark.redirected
def test_the_example_on_threads_with_options_of_their_own(build: Build) -> None:
    registry()  # attaches
    example = ctypes.CDLL(str(build(EXAMPLE / "lookup.cpp", *SHARED)))

    def look_up(name: bytes) -> tuple[int, str]:
        text = ctypes.create_string_buffer(500)
        return example.look_up_unsigned(name, text, len(text)), text.value.decode()

    def work(number: int) -> None:
        for _ in range(50):
            assert look_up(b"unroll-count") == (0, "0 process-wide")
            with OptionContext({"unroll-count": number}):
                assert look_up(b"unroll-count") == (0, f"{number} in this scope")
                assert planned(100) == number
            assert planned(100) == 1

    def planned(trips: int) -> int:
        count, words = ctypes.c_uint(), ctypes.create_string_buffer(500)
        assert example.planned_unrolling(trips, ctypes.byref(count), words, len(words)) == 0, words.value
        return count.value

    in_threads([partial(work, number) for number in range(2, 6)])
    status, message = look_up(b"enable-gvn-hoist")
    assert (status, message.rpartition(": ")[2]) == (2, "the option is of type bool")
    status, message = look_up(b"unrol-count")
    assert (status, message.rpartition("; ")[2]) == (1, "did you mean unroll-count?")


@pytest.mark.llvm22  # as many results as it names
@pytest.mark.redirected
def test_the_autotuner_of_the_example_on_threads_finds_what_fresh_processes_find(
    build: Build, fresh: FreshProcess
) -> None:
    registry()  # attaches
    example = ctypes.CDLL(str(build(EXAMPLE / "scopes.cpp", *SHARED)))
    job = Job(SCALE, triple=X86)
    counts = (2, 4, 8)
    own = ("-unroll-runtime=true", "-unroll-threshold=1000")
    right = {
        width: [
            fresh.compile(replace(job, options=(f"-force-vector-width={width}", *own, f"-unroll-count={n}")))
            for n in counts
        ]
        for width in (1, 2, 4)
    }
    assert len({result.code for found in right.values() for result in found}) == 9

    def work(width: int) -> None:
        found = []

        def compile_here() -> int:
            found.append(compile_job(job))
            return len(found)

        given, results = (ctypes.c_uint * 3)(*counts), (ctypes.c_size_t * 3)()
        words = ctypes.create_string_buffer(500)
        call_back = ctypes.CFUNCTYPE(ctypes.c_size_t)(compile_here)
        with OptionContext({"force-vector-width": width}, base="defaults"):
            size = ctypes.c_size_t
            assert example.try_counts(given, size(3), call_back, results, words, size(500)) == 0, words.value
        assert (list(results), found) == ([1, 2, 3], right[width])

    in_threads([partial(work, width) for width in right])


def test_a_process_without_optctx_gets_a_clear_error(build: Build) -> None:
    said = _output(build(SOURCES / "alone.cpp"))
    assert said == "optctx is not loaded in this process: import it in Python and use it once before\n" * 2


def test_another_version_of_the_interface_is_refused(build: Build) -> None:
    for flags in ((), ("-DTOO_SMALL",)):
        other = build(SOURCES / "other_version.cpp", *SHARED, *flags)
        said = _output(build(SOURCES / "alone.cpp"), str(other)).splitlines()
        assert len(said) == 2
        assert all("does not have version 2 of its C++ interface" in line for line in said)


@pytest.mark.parametrize(
    ("header", "standard", "flags"),
    [
        (
            "option_context.hpp",
            "c++17",
            ("-Wshadow", "-Wconversion", "-Wsign-conversion", "-Wold-style-cast"),
        ),
        ("scope.hpp", "c++17", ("-Wshadow", "-Wconversion", "-Wsign-conversion", "-Wold-style-cast")),
        ("scope.hpp", "c++20", ("-fno-exceptions", "-fno-rtti")),
        ("scope.hpp", "c++23", ()),
        ("interface.h", "c11", ("-xc",)),
    ],
)
def test_the_headers_compile_as_out_of_tree_code_compiles_them(
    tmp_path: pathlib.Path, header: str, standard: str, flags: tuple[str, ...]
) -> None:
    source = tmp_path / "includes.cpp"
    source.write_text(f"#include <optctx/{header}>\n")
    compile_cpp(source, tmp_path / "includes.o", "-fsyntax-only", *flags, standard=standard)


def test_without_exceptions_an_error_ends_the_process_with_its_message(tmp_path: pathlib.Path) -> None:
    source = tmp_path / "plain.cpp"
    source.write_text(
        '#include <optctx/option_context.hpp>\nint main() { return optctx::current().get<int>("x"); }\n'
    )
    program = compile_cpp(source, tmp_path / "plain", "-fno-exceptions", "-fno-rtti")
    done = subprocess.run([program], capture_output=True, text=True, timeout=60)
    assert done.returncode == -signal.SIGABRT
    assert done.stderr.startswith("optctx: optctx is not loaded in this process")


_USER = """
#include <optctx/scope.hpp>
#include <cstdio>
int main() {
    try {
        optctx::Scope scope{{"unroll-count", "4"}};
    } catch (const optctx::Unavailable& error) {
        std::puts(error.what());
    }
}
"""


def _folder(flag: str) -> str:
    """What the program prints, without importing the package."""
    code = f"import sys, optctx_program as p; p.main([{flag!r}]); print('optctx' in sys.modules)"
    said, imported = run_python(code).splitlines()
    assert imported == "False"
    return said


def test_cmake_finds_the_headers(tmp_path: pathlib.Path) -> None:
    (tmp_path / "main.cpp").write_text(_USER)
    (tmp_path / "CMakeLists.txt").write_text(
        f"""cmake_minimum_required(VERSION 3.18...3.31)
        project(user LANGUAGES CXX)
        find_package(optctx {optctx.__version__} CONFIG REQUIRED)
        find_package(optctx 99 CONFIG QUIET PATHS "${{optctx_ROOT}}")
        if(optctx_FOUND)
          message(FATAL_ERROR "a version that this is not")
        endif()
        add_executable(user main.cpp)
        target_link_libraries(user PRIVATE optctx::optctx)
        """
    )
    cmake = str(
        pathlib.Path(pytest.importorskip("cmake", reason="cmake is not installed").CMAKE_BIN_DIR, "cmake")
    )
    for command in (
        [cmake, "-S", ".", "-B", "build", f"-Doptctx_ROOT={_folder('--cmakedir')}"],
        [cmake, "--build", "build"],
    ):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
    assert _output(tmp_path / "build" / "user").startswith("optctx is not loaded in this process")


def test_pkg_config_finds_the_headers(tmp_path: pathlib.Path) -> None:
    program = shutil.which("pkg-config")
    if program is None:
        pytest.skip("pkg-config is not installed")
    environment = {**os.environ, "PKG_CONFIG_PATH": _folder("--pkgconfigdir")}

    def ask(*flags: str) -> list[str]:
        command = [program, *flags, "optctx"]
        return subprocess.check_output(command, env=environment, text=True, timeout=60).split()

    assert ask("--modversion") == [optctx.__version__]
    (tmp_path / "main.cpp").write_text(_USER)
    compile_cpp(tmp_path / "main.cpp", tmp_path / "user", *ask("--cflags"), include="")
    assert _output(tmp_path / "user").startswith("optctx is not loaded in this process")
    compile_cpp(tmp_path / "main.cpp", tmp_path / "again", _folder("--includes"), "-fsyntax-only", include="")


def test_get_include_is_the_folder_of_the_package() -> None:
    folder = pathlib.Path(optctx.get_include())
    assert folder.parent == pathlib.Path(optctx.__file__).parent
    assert (folder / "optctx" / "option_context.hpp").is_file()


def _output(program: pathlib.Path, *arguments: str) -> str:
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout
