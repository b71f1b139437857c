"""What is installed with the package, as pip is told before it builds: it depends on the interpreter."""

from __future__ import annotations

import pathlib

import pytest

from tests.support.processes import run_python

PROJECT = pathlib.Path(__file__).parents[2]


def required(*, free_threaded: bool, sdist: bool = False) -> set[str]:
    """The lines about dependencies that are no extra's, of a wheel or of the source distribution."""
    printed = run_python(f"""
        import os, pathlib, sysconfig, tarfile, tempfile
        from scikit_build_core.build import build_sdist, prepare_metadata_for_build_wheel

        known = sysconfig.get_config_var
        fake = {{"Py_GIL_DISABLED": {int(free_threaded)}}}
        sysconfig.get_config_var = lambda name: fake[name] if name in fake else known(name)
        os.chdir({str(PROJECT)!r})
        with tempfile.TemporaryDirectory() as folder:
            if {sdist}:
                with tarfile.open(pathlib.Path(folder, build_sdist(folder))) as archive:
                    [name] = [name for name in archive.getnames() if name.endswith("PKG-INFO")]
                    text = archive.extractfile(name).read().decode()
            else:
                text = pathlib.Path(folder, prepare_metadata_for_build_wheel(folder), "METADATA").read_text()
        print("\\n" + text.split("\\n\\n")[0])
    """)
    lines = [line for line in printed.splitlines() if "Requires-Dist" in line and "extra ==" not in line]
    assert len(lines) > 2
    return {line.partition("<")[0].partition(">")[0] for line in lines}


ALWAYS = {f"Requires-Dist: {name}" for name in ("llvmlite", "platformdirs", "rich", "tomli")}


@pytest.mark.parametrize(
    ("free_threaded", "decoder"), [(False, "Requires-Dist: iced-x86"), (True, "Requires-Dist: capstone")]
)
def test_a_decoder_that_the_interpreter_has_a_wheel_for_is_installed(
    free_threaded: bool, decoder: str
) -> None:
    assert required(free_threaded=free_threaded) == {*ALWAYS, decoder}


def test_the_source_distribution_says_that_they_may_be_others() -> None:
    assert "Dynamic: Requires-Dist" in required(free_threaded=False, sdist=True)
