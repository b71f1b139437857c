"""Installing optctx leaves the llvmlite and the Numba of an environment as they are: what pip resolves to."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import textwrap
import venv
import zipfile

import pip
import pytest

from tests.support.processes import run_python

PROJECT = pathlib.Path(__file__).parents[2]
WHEEL = "Wheel-Version: 1.0\nGenerator: a test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
NEWEST = "0.50.0"
INDEX = {  # what there is to install: (name, version) -> what it needs
    ("llvmlite", "0.43.0"): "",
    ("llvmlite", "0.47.0"): "",
    ("llvmlite", NEWEST): "",
    ("numba", "0.65.0"): "llvmlite<0.48,>=0.47",
    ("numba", "0.68.0"): "llvmlite<0.51,>=0.50",
    ("rich", "13.0.0"): "",
    ("capstone", "5.0.6"): "",
    ("platformdirs", "4.3.0"): "",
    ("msgspec", "0.22.0"): "",
}


def metadata(name: str, version: str, needs: str) -> str:
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    return text + (f"Requires-Dist: {needs}\n" if needs else "")


def add_wheel(folder: pathlib.Path, name: str, version: str, text: str) -> None:
    """A wheel with this metadata and nothing else."""
    stem = f"{name.replace('-', '_')}-{version}"
    files = {f"{stem}.dist-info/METADATA": text, f"{stem}.dist-info/WHEEL": WHEEL}
    files[f"{stem}.dist-info/RECORD"] = "".join(f"{each},,\n" for each in files)
    with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as archive:
        for each, content in files.items():
            archive.writestr(each, content)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A folder of wheels; that of optctx has the metadata that a build gives it."""
    folder = tmp_path_factory.mktemp("index")
    for (name, version), needs in INDEX.items():
        add_wheel(folder, name, version, metadata(name, version, needs))
    text = run_python(
        f"""
        import os, pathlib
        from scikit_build_core.build import prepare_metadata_for_build_wheel

        os.chdir({str(PROJECT)!r})
        made = prepare_metadata_for_build_wheel({str(folder)!r})
        print(pathlib.Path({str(folder)!r}, made, "METADATA").read_text())
        """
    )
    text = text[text.index("Metadata-Version") :]  # after what scikit-build-core says
    version = text.partition("\nVersion: ")[2].partition("\n")[0]
    add_wheel(folder, "optctx", version, text.strip() + "\n")
    return folder


def resolved(
    index: pathlib.Path, place: pathlib.Path, there: list[tuple[str, str]], *wanted: str
) -> dict[str, str]:
    """What pip would install, name -> version, into an environment in which these packages are."""
    venv.create(place, symlinks=True)
    for name, version in there:
        folder = next(place.glob("lib/python*/site-packages")) / f"{name}-{version}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(metadata(name, version, INDEX.get((name, version), "")))
        (folder / "RECORD").write_text("")
        (folder / "INSTALLER").write_text("pip\n")
    # As `pip --python` does, in one process.
    runner = pathlib.Path(pip.__file__).parent / "__pip-runner__.py"
    command = [str(place / "bin" / "python"), str(runner), "install", "--dry-run", "--quiet"]
    command += ["--disable-pip-version-check", "--no-index", "--find-links", str(index)]
    report = place / "report.json"
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("LD_PRELOAD", "PYTHONPATH") and not name.startswith("PIP_")
    }
    done = subprocess.run(
        [*command, "--report", str(report), *wanted],
        env={**environment, "PIP_CONFIG_FILE": os.devnull},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, textwrap.indent(done.stderr, "  ")
    found = [each["metadata"] for each in json.loads(report.read_text())["install"]]
    return {each["name"]: each["version"] for each in found}


def test_an_llvmlite_that_is_there_stays(index: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """Whichever that is: `--upgrade` is about optctx alone."""
    for version in ("0.47.0", "0.99.0"):
        there = [("llvmlite", version), *([("numba", "0.65.0")] if version == "0.47.0" else [])]
        installed = resolved(index, tmp_path / version, there, "--upgrade", "optctx")
        assert "optctx" in installed
        assert not {"llvmlite", "numba"} & installed.keys(), version


def test_where_there_is_none_it_is_the_newest_that_numba_takes(
    index: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    assert resolved(index, tmp_path / "alone", [], "optctx")["llvmlite"] == NEWEST
    installed = resolved(index, tmp_path / "numba", [], "optctx", "numba<0.66")
    assert (installed["numba"], installed["llvmlite"]) == ("0.65.0", "0.47.0")
