"""Other releases of llvmlite, from PyPI. `make images` tries those left out here, too.

Each is installed once, into a folder of its own under build/, and tried in a process of its own.

python -m tests.project.test_other_llvmlites    writes what attaching decides, for each release with a wheel
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import tempfile
from importlib import metadata

import pytest

from tests.optctx.engine.attached_plan import KEPT
from tests.support.cpp_build import ROOT
from tests.support.installed import FREE_THREADED
from tests.support.processes import SECONDS, run_python

# Release -> the last CPython 3.x that PyPI has a wheel for (Linux, x86-64, with the GIL).
REFUSED = {"0.43.0": 12, "0.44.0": 13}
TAKEN = {"0.45.1": 13, "0.46.0": 14, "0.47.0": 14, "0.48.0": 14, "0.49.0": 14}
LEFT_OUT = {"0.45.1", "0.46.0", "0.48.0"}  # the LLVM of 0.47.0, its library, and the LLVM of 0.49.0
_UNREACHABLE = re.compile(r"^.*(?:connection broken|Read timed out).*$", re.MULTILINE)
pytestmark = pytest.mark.long

_REFUSED = """
    import llvmlite, optctx
    from llvmlite import binding
    from tests.support.library_code import changed_code

    IR = "define i32 @f(i32 %x) { ret i32 %x }"  # which every LLVM reads
    assert llvmlite.__version__ == VERSION
    uses = [
        optctx.registry,
        optctx.attach,
        lambda: optctx.OptionContext(unroll_count=4),
        lambda: optctx.run_passes(binding.parse_assembly(IR), "default<O2>"),
        lambda: optctx.record().__enter__(),
        lambda: optctx.watch(print).__enter__(),
    ]
    messages = set()
    for use in uses:
        try:
            use()
        except optctx.UnsupportedImageError as error:
            messages.add(str(error))
        else:
            raise AssertionError(use)
    [message] = messages
    assert optctx.info()["error"] == message
    assert changed_code() == []
    binding.parse_assembly(IR).verify()
    print(message)
"""

# Random options on four threads, held against fresh processes; then llvmlite's own passes, and detaching.
_TAKEN = """
    import sys
    import llvmlite, optctx, pytest
    from llvmlite import binding
    from tests.support.library_code import changed_code
    from tests.support.scopes import unrolled_by_llvmlite

    assert llvmlite.__version__ == VERSION
    chosen = ["-k", "everything_at_once", "tests/promises/test_at_once.py"]
    if status := pytest.main(["-q", "-p", "no:cacheprovider", "-n0", *chosen]):
        sys.exit(status)
    assert optctx.info()["error"] is None, optctx.info()
    with optctx.OptionContext(unroll_count=4):
        assert unrolled_by_llvmlite() == 4
    assert unrolled_by_llvmlite() == 1
    optctx.detach()
    assert changed_code() == []
"""

# What attaching decides, first with nothing kept, and then with what that has kept.
_PLANNED = """
    import llvmlite
    from tests.optctx.engine.attached_plan import report

    assert llvmlite.__version__ == VERSION
    print(report())
"""


@pytest.mark.parametrize("version", REFUSED)
def test_first_uses_of_one_that_is_too_old_are_one_error_that_says_what_to_do(version: str) -> None:
    message = _run(_REFUSED, version)
    assert message.startswith(f"llvmlite {version} (LLVM ")
    for needed in ("is not supported", "llvmlite 0.45 to 0.50", "Numba 0.62 to 0.68", "pip install"):
        assert needed in message, message


@pytest.mark.parametrize("version", [each for each in TAKEN if each not in LEFT_OUT])
def test_scopes_on_threads_give_what_fresh_processes_give(version: str) -> None:
    _run(_TAKEN, version)


@pytest.mark.parametrize("version", TAKEN)
def test_attaching_decides_what_earlier_versions_of_this_package_decided(version: str) -> None:
    kept = json.loads(KEPT.read_text())[version]
    assert plans_of(version) == (kept, kept)  # cold and warm


def has_wheel(version: str) -> bool:
    """Whether PyPI has a wheel of that llvmlite for this interpreter."""
    return sys.version_info[1] <= {**REFUSED, **TAKEN}[version] and not FREE_THREADED


def plans_of(version: str) -> tuple[dict[str, str], dict[str, str]]:
    """Digests of what attaching decides, cold and warm."""
    with tempfile.TemporaryDirectory() as home:
        cold, warm = (json.loads(_run(_PLANNED, version, XDG_CACHE_HOME=home)) for _ in range(2))
    assert (cold["state"], warm["state"]) == ("kept", "used")
    return cold["decided"], warm["decided"]


def _run(script: str, version: str, **variables: str) -> str:
    """What a script prints in a process that finds this release, or the environment's own, first."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        if version in {**REFUSED, **TAKEN}:
            patch.syspath_prepend(str(_installed(version)))
        return run_python(script.replace("VERSION", repr(version)))


def _installed(version: str) -> pathlib.Path:
    """The folder of that llvmlite; skips the test where there is none."""
    if not has_wheel(version):
        pytest.skip(f"PyPI has no wheel of llvmlite {version} for this Python")
    folder = ROOT / "build" / "wheels" / f"llvmlite-{version}-{sysconfig.get_config_var('SOABI')}"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as made:
            _install(version, whole := pathlib.Path(made, "whole"))
            try:
                os.rename(whole, folder)
            except OSError:
                assert folder.exists()  # another process was first
    return folder


def _install(version: str, folder: pathlib.Path) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--retries", "1", "--timeout", "20", "--no-deps", "--only-binary", ":all:"]
    done = subprocess.run(
        [*command, "--target", str(folder), f"llvmlite=={version}"],
        env={name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "PYTHONPATH")},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    unreachable = _UNREACHABLE.search(done.stderr) if done.returncode else None
    if unreachable is not None:
        pytest.skip(f"PyPI cannot be reached: {unreachable[0]}")
    assert done.returncode == 0, done.stderr


def main() -> None:
    """Write what attaching decides anew, for each release with a wheel."""
    kept = json.loads(KEPT.read_text())
    releases = (*filter(has_wheel, TAKEN), metadata.version("llvmlite"))
    KEPT.write_text(json.dumps({**kept, **{each: plans_of(each)[0] for each in releases}}, indent=1) + "\n")


if __name__ == "__main__":
    main()
