"""The installed C++ header as other code uses it: the example, processes without optctx, compilers' flags."""

from __future__ import annotations

import os
import pathlib
import shutil
import sys

import pytest

import optctx
from tests.support.cpp_build import ROOT, SHARED, Build
from tests.support.processes import output_of

EXAMPLE = ROOT / "examples" / "cpp"


@pytest.mark.parametrize("name", ["scopes", "lookup"])
def test_the_example_does_what_its_readme_says(build: Build, name: str) -> None:
    library = build(EXAMPLE / f"{name}.cpp", *SHARED, "-O0")
    programs = (EXAMPLE / "README.md").read_text().split("```python\n")[1:]
    program = next(each for each in programs if f"./lib{name}.so" in each.partition("```")[0])
    script, _, rest = program.partition("```")
    said = output_of(sys.executable, "-c", script, cwd=library.parent)
    assert said == rest.split("```\n")[1]


def test_a_process_without_optctx_or_with_another_version_of_the_interface_gets_a_clear_error(
    build: Build,
) -> None:
    alone = build("alone.cpp", "-O0")
    said = output_of(alone)
    assert said == "optctx is not loaded in this process: import it in Python and use it once before\n" * 2
    said = output_of(alone, build("other_version.cpp", *SHARED))
    assert said.count("does not have version 3 of its C++ interface") == said.count("\n") == 2


def test_the_headers_compile_as_out_of_tree_code_compiles_them(build: Build, tmp_path: pathlib.Path) -> None:
    for header, standard, flags in (
        ("optctx.hpp", "c++20", ("-fno-exceptions", "-fno-rtti")),
        ("interface.h", "c11", ("-xc",)),
    ):
        source = tmp_path / "includes.cpp"
        source.write_text(f"#include <optctx/{header}>\n")
        build(source, "-c", *flags, standard=standard)


def test_cmake_finds_the_headers(tmp_path: pathlib.Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        f"""cmake_minimum_required(VERSION 3.18...3.31)
        project(user LANGUAGES NONE)
        find_package(optctx {optctx.__version__} CONFIG REQUIRED)
        foreach(each INTERFACE_INCLUDE_DIRECTORIES INTERFACE_COMPILE_FEATURES)
          get_target_property(value optctx::optctx ${{each}})
          message(NOTICE ${{value}})
        endforeach()
        find_package(optctx 99 CONFIG QUIET PATHS "${{optctx_ROOT}}")
        if(optctx_FOUND)
          message(FATAL_ERROR "a version that this is not")
        endif()
        """
    )
    reason = "cmake is not installed"
    cmake = pathlib.Path(pytest.importorskip("cmake", reason=reason).CMAKE_BIN_DIR, "cmake")
    root = f"-Doptctx_ROOT={optctx.get_include()}"
    said = output_of("sh", "-c", '"$@" 2>&1', "sh", cmake, "-S", ".", "-B", "build", root, cwd=tmp_path)
    assert said.splitlines()[:2] == [optctx.get_include(), "cxx_std_17"]


def test_pkg_config_finds_the_headers() -> None:
    program = shutil.which("pkg-config")
    if program is None:
        pytest.skip("pkg-config is not installed")
    environment = {**os.environ, "PKG_CONFIG_PATH": f"{optctx.get_include()}/pkgconfig"}
    assert output_of(program, "--modversion", "optctx", env=environment).split() == [optctx.__version__]
    folder = output_of(program, "--cflags", "optctx", env=environment).strip().removeprefix("-I")
    assert pathlib.Path(folder).resolve() == pathlib.Path(optctx.get_include()).resolve()
