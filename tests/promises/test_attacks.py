"""What a module may try: each attack succeeds where the program trusts its class, and fails by default."""

from __future__ import annotations

import hashlib
import os
import platform
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from llvmlite import binding

import optctx
from tests.support.alone import End, end_of
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
# ("stock" for llvmlite alone, "ignore" and "error" for what attributes of functions mean, "stamp" to enter a
# context of the module's stamp; the classes that the program trusts; the module).
Attempt = tuple[str, tuple[str, ...], str]


def compile_each(folder: Path, attempts: tuple[Attempt, ...]) -> None:
    """Print a line for each module: the digest of the object, or what is refused."""
    os.chdir(folder)
    path = f"{folder.parent / 'programs'}:/usr/bin:/bin"
    os.environ.update(PATH=path, TMPDIR=str(folder), MARKER=str(folder.parent / "marker"))
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    for how, trust, ir in attempts:
        with binding.create_context() as context, binding.parse_assembly(ir, context) as module:
            machine = binding.Target.from_triple("x86_64-unknown-linux-gnu").create_target_machine()
            code = machine.emit_object(module) if how == "stock" else compiled(how, trust, module, machine)
        print(code if isinstance(code, str) else hashlib.sha256(code).hexdigest())


def compiled(how: str, trust: tuple[str, ...], module: Any, machine: Any) -> bytes | str:
    more: dict[str, Any] = {"trust": trust} if trust else {}
    optctx.attach(attributes="error" if how == "error" else "ignore", **more)
    try:
        if how == "stamp":
            with optctx.OptionContext.from_module(module, **more):
                optctx.run_passes(module, "default<O1>", target_machine=machine)
        return optctx.emit_object(module, machine)
    except optctx.UntrustedOptionError as error:
        return f"refused {error.name} {error.trust}"


class Place(NamedTuple):
    """What attacks may use. Viewers write their paths into `viewed`, and the plugin writes into `marker`."""

    folder: Path
    plugin: Path

    def attack(self, name: str, *attempts: Attempt) -> End:
        """Compile in a process that works in a folder of this name; temporary files go there, too."""
        (self.folder / name).mkdir()
        return end_of(compile_each, folder=self.folder / name, attempts=attempts)

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
    assert (stock.status, stock.failed, done.status, done.failed) == (0, "", 0, "")
    assert done.printed.splitlines() == [*stock.printed.splitlines(), *refused]
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
    assert (done.status, done.failed, "refused" in done.printed) == (0, "", False), done
    assert (folder / "marker").read_text() == "loaded\ncalled\n"
    assert "lvi.gadget.dot" in os.listdir(folder / "all")
    viewed = (folder / "viewed").read_text().splitlines()
    assert {Path(line).parent for line in viewed} == {folder / "programs"}
    assert any((folder / "dumps").iterdir())
    # LLVM ends the process, and no Python exception is raised.
    ended = place.attack("end", ("error", ("tuning", "process"), gadget("-fast-isel-abort=1")))
    assert (ended.status, ended.failed, ended.printed[:10]) == (1, "", "LLVM ERROR")
