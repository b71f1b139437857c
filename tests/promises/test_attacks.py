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


def check(ir: str, tmp_path: Path, name: str, trust: str, environment: dict[str, str] | None = None) -> None:
    """By default the attribute is refused, or counts for nothing; neither leaves a trace."""
    stock = attack("stock", ir, tmp_path / "stock", environment=environment)
    ignored = attack("ignore", ir, tmp_path / "ignored", environment=environment)
    refused = attack("error", ir, tmp_path / "refused", environment=environment)
    assert (stock.returncode, stock.stderr) == (0, "")
    assert (ignored.returncode, ignored.stderr, ignored.stdout) == (0, "", stock.stdout)
    assert (refused.returncode, refused.stderr, refused.stdout) == (0, "", f"refused {name} {trust}\n")
    for folder in ("stock", "ignored", "refused"):
        assert os.listdir(tmp_path / folder) == []


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("plugin") / "plugin.so"
    return compile_cpp(ROOT / "tests/programs/cpp/plugin.cpp", out, *SHARED)


def test_a_library_is_loaded(plugin: Path, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    environment = {"MARKER": str(marker)}
    ir = gadget(f"-x86-lvi-load-opt-plugin={plugin}")
    trusted = attack("error", ir, tmp_path / "trusted", ("tuning", "code"), environment)
    assert (trusted.returncode, trusted.stderr) == (0, "")
    assert marker.read_text() == "loaded\ncalled\n"
    marker.unlink()
    check(ir, tmp_path, "x86-lvi-load-opt-plugin", "code", environment)
    assert not marker.exists()


def test_files_are_written_to_the_working_folder(tmp_path: Path) -> None:
    ir = gadget("-x86-lvi-load-dot")
    trusted = attack("error", ir, tmp_path / "trusted", ("tuning", "output"))
    assert trusted.returncode == 0
    assert os.listdir(tmp_path / "trusted") == ["lvi.gadget.dot"]
    check(ir, tmp_path, "x86-lvi-load-dot", "output")


def test_a_viewer_is_started(tmp_path: Path) -> None:
    marker, programs = tmp_path / "marker", tmp_path / "programs"
    programs.mkdir()
    for name in VIEWERS:
        program = programs / name
        program.write_text(f'#!/bin/sh\necho "$0" >> {marker}\n')
        program.chmod(0o755)
    environment = {"PATH": f"{programs}:/usr/bin:/bin"}
    ir = gadget("-view-isel-dags")
    trusted = attack("error", ir, tmp_path / "trusted", ("tuning", "code"), environment)
    assert trusted.returncode == 0
    assert {Path(line).parent for line in marker.read_text().splitlines()} == {programs}
    marker.unlink()
    check(ir, tmp_path, "view-isel-dags", "code", environment)
    assert not marker.exists()


def test_the_process_is_ended(tmp_path: Path) -> None:
    ir = gadget("-fast-isel-abort=1")
    trusted = attack("error", ir, tmp_path / "trusted", ("tuning", "process"))
    assert (trusted.returncode, trusted.stdout) == (1, "")
    assert trusted.stderr.startswith("LLVM ERROR")  # and not a Python exception
    check(ir, tmp_path, "fast-isel-abort", "process")


def test_a_stamp_names_a_folder_to_write_to(tmp_path: Path) -> None:
    dumps = tmp_path / "dumps"
    ir = f"""{gadget("-unroll-count=4")}
    !optctx.options = !{{!0}}
    !0 = !{{!"1", !"kernel.c", !{{!"print-after-all", null}}, !{{!"ir-dump-directory", !"{dumps}"}}}}
    """
    refused = attack("stamp", ir, tmp_path / "stamp")
    assert (refused.returncode, refused.stderr) == (0, "")
    assert refused.stdout == "refused print-after-all output\n"
    stock = attack("stock", ir, tmp_path / "stock")
    ignored = attack("ignore", ir, tmp_path / "ignored")
    assert (ignored.returncode, ignored.stderr, ignored.stdout) == (0, "", stock.stdout)
    assert not dumps.exists()
    trusted = attack("stamp", ir, tmp_path / "trusted", ("output",))
    assert trusted.returncode == 0
    assert any(dumps.iterdir())
