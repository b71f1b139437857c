"""The installed C++ header as other code uses it: the example, processes without optctx, compilers' flags."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import optctx
from tests.support.cpp_build import ROOT, SHARED, Build, compile_cpp
from tests.support.processes import SECONDS, output_of

EXAMPLE = ROOT / "examples" / "cpp"


@pytest.mark.parametrize("name", ["scopes", "lookup"])
def test_the_example_does_what_its_readme_says(build: Build, name: str) -> None:
    library = build(EXAMPLE / f"{name}.cpp", *SHARED)
    programs = (EXAMPLE / "README.md").read_text().split("```python\n")[1:]
    program = next(each for each in programs if f"./lib{name}.so" in each.partition("```")[0])
    script, _, rest = program.partition("```")
    said = output_of(sys.executable, "-c", script, cwd=library.parent)
    assert said == rest.split("```\n")[1]


def test_a_process_without_optctx_gets_a_clear_error(build: Build) -> None:
    said = output_of(build("alone.cpp"))
    assert said == "optctx is not loaded in this process: import it in Python and use it once before\n" * 2


def test_another_version_of_the_interface_is_refused(build: Build) -> None:
    other = build("other_version.cpp", *SHARED)
    said = output_of(build("alone.cpp"), str(other)).splitlines()
    assert len(said) == 2
    assert all("does not have version 3 of its C++ interface" in line for line in said)


@pytest.mark.parametrize(
    ("header", "standard", "flags"),
    [
        ("optctx.hpp", "c++17", ("-Wshadow", "-Wconversion", "-Wsign-conversion", "-Wold-style-cast")),
        ("optctx.hpp", "c++20", ("-fno-exceptions", "-fno-rtti")),
        ("interface.h", "c11", ("-xc",)),
    ],
)
def test_the_headers_compile_as_out_of_tree_code_compiles_them(
    tmp_path: pathlib.Path, header: str, standard: str, flags: tuple[str, ...]
) -> None:
    source = tmp_path / "includes.cpp"
    source.write_text(f"#include <optctx/{header}>\n")
    compile_cpp(source, tmp_path / "includes.o", "-fsyntax-only", *flags, standard=standard)


_USER = """
#include <optctx/optctx.hpp>
#include <cstdio>
int main() {
    try {
        optctx::Scope scope{{"unroll-count", "4"}};
    } catch (const optctx::Error& error) {
        std::puts(error.what());
    }
}
"""


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
        [cmake, "-S", ".", "-B", "build", f"-Doptctx_ROOT={optctx.get_include()}"],
        [cmake, "--build", "build"],
    ):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS)
        assert done.returncode == 0, done.stdout + done.stderr
    assert output_of(tmp_path / "build" / "user").startswith("optctx is not loaded in this process")


def test_pkg_config_finds_the_headers(tmp_path: pathlib.Path) -> None:
    program = shutil.which("pkg-config")
    if program is None:
        pytest.skip("pkg-config is not installed")
    environment = {**os.environ, "PKG_CONFIG_PATH": f"{optctx.get_include()}/pkgconfig"}

    def ask(*flags: str) -> list[str]:
        command = [program, *flags, "optctx"]
        return subprocess.check_output(command, env=environment, text=True, timeout=SECONDS).split()

    assert ask("--modversion") == [optctx.__version__]
    (tmp_path / "main.cpp").write_text(_USER)
    compile_cpp(tmp_path / "main.cpp", tmp_path / "user", *ask("--cflags"), "-fsyntax-only", include="")
