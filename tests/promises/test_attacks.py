"""What a module may try: each attack succeeds where the program trusts its class, and fails by default."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import pytest

from tests.promises.attacks import attack
from tests.support.cpp_build import ROOT, SHARED, compile_cpp

pytestmark = [
    pytest.mark.redirected,
    pytest.mark.skipif(platform.machine() != "x86_64", reason="needs x86-64: the attacks are on its target"),
]

# A load whose address was loaded: what the hardening against load value injection looks for.
GADGET = """
define i32 @gadget(ptr %p, ptr %q) "optctx"="{options}" "target-features"="+lvi-load-hardening,+lvi-cfi" {{
  %i = load i64, ptr %p
  %at = getelementptr i32, ptr %q, i64 %i
  %x = load i32, ptr %at
  ret i32 %x
}}
"""
VIEWERS = ("xdg-open", "Graphviz", "xdot", "xdot.py", "dotty", "dot", "open")  # that LLVM looks for


def gadget(options: str) -> str:
    return GADGET.format(options=options)


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("plugin") / "plugin.so"
    return compile_cpp(ROOT / "tests/programs/cpp/plugin.cpp", out, *SHARED)


@pytest.fixture
def viewers(tmp_path: Path) -> Path:
    """A folder of viewers that write where they are into a file beside it."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in VIEWERS:
        program = programs / name
        program.write_text(f'#!/bin/sh\necho "$0" >> {tmp_path / "viewed"}\n')
        program.chmod(0o755)
    return programs


def stamped(dumps: Path) -> str:
    return f"""{gadget("-unroll-count=4")}
    !optctx.options = !{{!0}}
    !0 = !{{!"1", !"kernel.c", !{{!"print-after-all", null}}, !{{!"ir-dump-directory", !"{dumps}"}}}}
    """


def test_by_default_each_is_refused_or_counts_for_nothing_and_leaves_no_trace(
    plugin: Path, viewers: Path, tmp_path: Path
) -> None:
    options = {
        f"-x86-lvi-load-opt-plugin={plugin}": "x86-lvi-load-opt-plugin code",
        "-x86-lvi-load-dot": "x86-lvi-load-dot output",
        "-view-isel-dags": "view-isel-dags code",
        "-fast-isel-abort=1": "fast-isel-abort process",
    }
    modules = [*map(gadget, options), stamped(tmp_path / "dumps")]
    environment = {"MARKER": str(tmp_path / "marker"), "PATH": f"{viewers}:/usr/bin:/bin"}

    def lines(how: str, given: list[str]) -> list[str]:
        done = attack(how, given, tmp_path / how, environment=environment)
        assert (done.returncode, done.stderr) == (0, "")
        assert os.listdir(tmp_path / how) == []
        return done.stdout.splitlines()

    stock = lines("stock", modules)
    assert len(stock) == len(modules)
    assert lines("ignore", modules) == stock
    assert lines("error", modules[:-1]) == [f"refused {each}" for each in options.values()]
    assert lines("stamp", modules[-1:]) == ["refused print-after-all output"]
    assert {each.name for each in tmp_path.iterdir()} == {"programs", "stock", "ignore", "error", "stamp"}


def test_a_library_is_loaded(plugin: Path, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    modules = [gadget(f"-x86-lvi-load-opt-plugin={plugin}")]
    trusted = attack("error", modules, tmp_path / "trusted", ("tuning", "code"), {"MARKER": str(marker)})
    assert (trusted.returncode, trusted.stderr) == (0, "")
    assert marker.read_text() == "loaded\ncalled\n"


def test_files_are_written_to_the_working_folder(tmp_path: Path) -> None:
    trusted = attack("error", [gadget("-x86-lvi-load-dot")], tmp_path / "trusted", ("tuning", "output"))
    assert trusted.returncode == 0
    assert os.listdir(tmp_path / "trusted") == ["lvi.gadget.dot"]


def test_a_viewer_is_started(viewers: Path, tmp_path: Path) -> None:
    environment = {"PATH": f"{viewers}:/usr/bin:/bin"}
    modules = [gadget("-view-isel-dags")]
    trusted = attack("error", modules, tmp_path / "trusted", ("tuning", "code"), environment)
    assert trusted.returncode == 0
    viewed = (tmp_path / "viewed").read_text().splitlines()
    assert {Path(line).parent for line in viewed} == {viewers}


def test_the_process_is_ended(tmp_path: Path) -> None:
    modules = [gadget("-fast-isel-abort=1")]
    trusted = attack("error", modules, tmp_path / "trusted", ("tuning", "process"))
    assert (trusted.returncode, trusted.stdout) == (1, "")
    assert trusted.stderr.startswith("LLVM ERROR")  # and not a Python exception


def test_a_stamp_names_a_folder_to_write_to(tmp_path: Path) -> None:
    dumps = tmp_path / "dumps"
    trusted = attack("stamp", [stamped(dumps)], tmp_path / "trusted", ("output",))
    assert trusted.returncode == 0
    assert any(dumps.iterdir())
