"""What a module may try: each attack succeeds where the program trusts its class, and fails by default."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.promises import attacks
from tests.support.cpp_build import SHARED, Build
from tests.support.processes import SECONDS

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
SAFE = "HOME", "LANG", "LD_PRELOAD", "PATH", "PYTHONPATH", "ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"
Attempt = tuple[str, tuple[str, ...], str]


class Place(NamedTuple):
    """What attacks may use. Viewers write their paths into `viewed`, and the plugin writes into `marker`."""

    folder: Path
    plugin: Path

    def attack(self, name: str, *attempts: Attempt) -> subprocess.CompletedProcess[str]:
        """Compile in a process that works in a folder of this name; temporary files go there, too."""
        (self.folder / name).mkdir()
        kept = {name: os.environ[name] for name in SAFE if name in os.environ}
        kept["PATH"] = f"{self.folder / 'programs'}:/usr/bin:/bin"
        return subprocess.run(
            [sys.executable, "-W", "error", attacks.__file__],
            input=json.dumps(attempts),
            cwd=self.folder / name,
            env={**kept, "TMPDIR": str(self.folder / name), "MARKER": str(self.folder / "marker")},
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )

    def stamped(self) -> str:
        dumps = self.folder / "dumps"
        return f"""{gadget("-unroll-count=4")}
        !optctx.options = !{{!0}}
        !0 = !{{!"1", !"kernel.c", !{{!"print-after-all", null}}, !{{!"ir-dump-directory", !"{dumps}"}}}}
        """


def gadget(options: str) -> str:
    return GADGET.format(options=options)


@pytest.fixture
def place(build: Build, tmp_path: Path) -> Place:
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in VIEWERS:
        program = programs / name
        program.write_text(f'#!/bin/sh\necho "$0" >> {tmp_path / "viewed"}\n')
        program.chmod(0o755)
    return Place(tmp_path, build("plugin.cpp", *SHARED))


def test_by_default_each_is_refused_or_counts_for_nothing_and_leaves_no_trace(place: Place) -> None:
    options = {
        f"-x86-lvi-load-opt-plugin={place.plugin}": "x86-lvi-load-opt-plugin code",
        "-x86-lvi-load-dot": "x86-lvi-load-dot output",
        "-view-isel-dags": "view-isel-dags code",
        "-fast-isel-abort=1": "fast-isel-abort process",
    }
    attributed, stamped = [*map(gadget, options)], place.stamped()
    modules = [*attributed, stamped]
    stock = place.attack("stock", *(("stock", (), each) for each in modules))
    done = place.attack(
        "scoped",
        *(("ignore", (), each) for each in modules),
        *(("error", (), each) for each in attributed),
        ("stamp", (), stamped),
    )
    refused = [f"refused {each}" for each in (*options.values(), "print-after-all output")]
    assert (stock.returncode, stock.stderr, done.returncode, done.stderr) == (0, "", 0, "")
    assert done.stdout.splitlines() == [*stock.stdout.splitlines(), *refused]
    assert {str(each.relative_to(place.folder)) for each in place.folder.glob("*")} == {
        *("programs", "stock", "scoped"),
    }
    assert [*place.folder.glob("s*/*")] == []


def test_each_succeeds_where_the_program_trusts_its_class(place: Place) -> None:
    folder = place.folder
    done = place.attack(
        "all",
        ("error", ("tuning", "code"), gadget(f"-x86-lvi-load-opt-plugin={place.plugin}")),
        ("error", ("tuning", "output"), gadget("-x86-lvi-load-dot")),
        ("error", ("tuning", "code"), gadget("-view-isel-dags")),
        ("stamp", ("output",), place.stamped()),
    )
    assert (done.returncode, "refused" in done.stdout) == (0, False), done
    assert (folder / "marker").read_text() == "loaded\ncalled\n"
    assert "lvi.gadget.dot" in os.listdir(folder / "all")
    viewed = (folder / "viewed").read_text().splitlines()
    assert {Path(line).parent for line in viewed} == {folder / "programs"}
    assert any((folder / "dumps").iterdir())
    # LLVM ends the process, and no Python exception is raised.
    ended = place.attack("end", ("error", ("tuning", "process"), gadget("-fast-isel-abort=1")))
    assert (ended.returncode, ended.stdout, ended.stderr[:10]) == (1, "", "LLVM ERROR")
