"""What a module may try: each attack succeeds where the program trusts its class, and fails by default."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import pytest

from tests.promises.attacks import attack
from tests.support.cpp_build import SHARED, Build

pytestmark = [
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
def plugin(build: Build) -> Path:
    return build("plugin.cpp", *SHARED)


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


def test_each_succeeds_where_the_program_trusts_its_class(
    plugin: Path, viewers: Path, tmp_path: Path
) -> None:
    marker, dumps = tmp_path / "marker", tmp_path / "dumps"
    environment = {"MARKER": str(marker), "PATH": f"{viewers}:/usr/bin:/bin"}

    def ended(name: str, module: str, *trust: str, how: str = "error") -> tuple[int, str, str]:
        done = attack(how, [module], tmp_path / name, trust, environment)
        return done.returncode, done.stdout, done.stderr.partition(":")[0]

    library = ended("library", gadget(f"-x86-lvi-load-opt-plugin={plugin}"), "tuning", "code")
    files = ended("files", gadget("-x86-lvi-load-dot"), "tuning", "output")
    viewer = ended("viewer", gadget("-view-isel-dags"), "tuning", "code")
    stamp = ended("stamp", stamped(dumps), "output", how="stamp")
    assert [each[0] for each in (library, files, viewer, stamp)] == [0, 0, 0, 0]
    assert (library[2], marker.read_text()) == ("", "loaded\ncalled\n")
    assert os.listdir(tmp_path / "files") == ["lvi.gadget.dot"]
    viewed = (tmp_path / "viewed").read_text().splitlines()
    assert {Path(line).parent for line in viewed} == {viewers}
    assert any(dumps.iterdir())
    # LLVM ends the process, and no Python exception is raised.
    process = ended("process", gadget("-fast-isel-abort=1"), "tuning", "process")
    assert process == (1, "", "LLVM ERROR")
