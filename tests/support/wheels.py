"""Other releases of llvmlite, from PyPI: what optctx does with each.

Each is installed once, into a folder of its own under build/, and tried in a process of its own.

python -m tests.support.wheels FILE    writes what attaching decides, for each release with a wheel
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

from tests.support.installed import FREE_THREADED
from tests.support.processes import SECONDS, run_python

# Release -> the last CPython 3.x that PyPI has a wheel for (Linux, x86-64, with the GIL).
REFUSED = {"0.43.0": 12, "0.44.0": 13}
TAKEN = {
    "0.45.1": 13,
    "0.46.0": 14,
    "0.47.0": 14,
    "0.48.0": 14,
    "0.49.0": 14,
}

_ROOT = pathlib.Path(__file__).parents[2]
_UNREACHABLE = re.compile(r"^.*(?:connection broken|Read timed out).*$", re.MULTILINE)

_REFUSED = """
    import sys
    import llvmlite
    import optctx.hosts.llvmlite
    host = sys.modules["optctx.hosts.llvmlite.llvmlite_host"]
    from optctx.image.registry_reader import read_registry
    from llvmlite import binding
    from tests.support.library_code import changed_code

    IR = "define i32 @f(i32 %x) { ret i32 %x }"  # which every LLVM reads
    assert llvmlite.__version__ == VERSION
    uses = [
        optctx.registry,
        optctx.attach,
        optctx.current,
        optctx.drift,
        lambda: optctx.OptionContext(unroll_count=4),
        lambda: optctx.OptionContext.from_args("-unroll-count=4"),
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

    # What its memory looks like is refused or read as well where its version is not asked.
    host.check_release = lambda: None
    try:
        found = read_registry(host.llvmlite_image())
    except optctx.UnsupportedImageError as error:
        assert str(host.llvmlite_image().path) in str(error)
    else:
        assert len(found.options) > 1500
"""

# Random options on four threads, held against fresh processes; then llvmlite's own passes, and detaching.
_TAKEN = """
    import sys
    import llvmlite, optctx, pytest
    from llvmlite import binding
    from tests.support.library_code import changed_code
    from tests.support.scopes import unrolled_by_llvmlite

    assert llvmlite.__version__ == VERSION
    chosen = ["-k", "random_options", "tests/promises/test_at_once.py"]
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


class UnreachableError(Exception):
    """The package index cannot be reached; the message is pip's."""


def has_wheel(version: str) -> bool:
    """Whether PyPI has a wheel of that llvmlite for this interpreter."""
    return sys.version_info[1] <= {**REFUSED, **TAKEN}[version] and not FREE_THREADED


def check_refused(version: str) -> None:
    """Import works, every first use is one error that says what to do, and nothing is changed."""
    message = _run(_REFUSED, version)
    assert message.startswith(f"llvmlite {version} (LLVM ")
    for needed in ("is not supported", "llvmlite 0.45 to 0.50", "Numba 0.62 to 0.68", "pip install"):
        assert needed in message, message


def check_taken(version: str) -> None:
    """Scopes on threads give what fresh processes give, with other output for other values."""
    _run(_TAKEN, version)


def plans_of(version: str) -> tuple[dict[str, str], dict[str, str]]:
    """Digests of what attaching decides, cold and warm. Raises UnreachableError."""
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
    """The folder of that llvmlite. Raises UnreachableError."""
    folder = _ROOT / "build" / "wheels" / f"llvmlite-{version}-{sysconfig.get_config_var('SOABI')}"
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
        raise UnreachableError(unreachable[0])
    assert done.returncode == 0, done.stderr


def main() -> None:
    """Write what attaching decides to the file of this name, for each release in it."""
    file = pathlib.Path(sys.argv[1])
    kept = json.loads(file.read_text())
    releases = (*filter(has_wheel, TAKEN), metadata.version("llvmlite"))
    file.write_text(json.dumps({**kept, **{each: plans_of(each)[0] for each in releases}}, indent=1) + "\n")


if __name__ == "__main__":
    main()
