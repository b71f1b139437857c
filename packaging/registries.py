"""Read the registries of options in the LLVMs of other packages.

`make registries` downloads each wheel into build/registries (two gigabytes in all), loads its library in a
fresh process, and walks the map of registered options. The functions are local; nm, of binutils, finds them.
"""

from __future__ import annotations

import argparse
import ctypes
import subprocess
import sys
import zipfile
from pathlib import Path

from optctx._native import walk_registry

FOLDER = Path(__file__).parent.parent / "build" / "registries"
LIBRARIES = {  # package==release -> the libraries in its wheel
    "triton==3.6.0": ["triton/_C/libtriton.so"],
    "triton==3.7.0": ["triton/_C/libtriton.so"],
    "triton==3.8.0": ["triton/_C/libtriton.so"],
    "triton==3.9.0": ["triton/_C/libtriton.so", "triton/backends/amd/lib/libtriton_amd_codegen.so"],
    "jaxlib==0.10.2": ["jaxlib/libjax_common.so"],
}
TOP_LEVEL = "_ZN4llvm2cl10SubCommand11getTopLevelEv"
REGISTERED = "_ZN4llvm2cl20getRegisteredOptionsERNS0_10SubCommandE"
MANAGED = "_ZL18TopLevelSubCommand"
OPTIONS_IN_SUBCOMMAND = 0x80  # bytes
Function = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint)


def downloaded(requirement: str, member: str) -> Path:
    """The file of that wheel."""
    folder = FOLDER / requirement
    if not (folder / member).exists():
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "-d",
            str(folder),
            requirement,
        ]
        subprocess.run(command, check=True)
        with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
            wheel.extract(member, folder)
    return folder / member


def addresses(path: Path) -> dict[str, int]:
    """Where the functions and objects named above are, in this process."""
    ctypes.CDLL(str(path))
    with open("/proc/self/maps") as maps:
        base = next(int(line.partition("-")[0], 16) for line in maps if line.rstrip().endswith(str(path)))
    told = subprocess.run(["nm", str(path)], capture_output=True, text=True, check=True).stdout
    places = {name: address for address, _, name in (line.rsplit(" ", 2) for line in told.splitlines())}
    return {name: base + int(places[name], 16) for name in (TOP_LEVEL, REGISTERED, MANAGED) if name in places}


def registered_options(at: dict[str, int]) -> int:
    if REGISTERED in at:
        return int(Function(at[REGISTERED])(Function(at[TOP_LEVEL])(None, 0), 0))
    return ctypes.c_uint64.from_address(at[MANAGED]).value + OPTIONS_IN_SUBCOMMAND


def judge(path: Path) -> str:
    layout, options = walk_registry(registered_options(addresses(path)))
    return f"{layout}, {len(options):,} names"


def main() -> int:
    parser = argparse.ArgumentParser(prog="make registries", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--file", type=Path, help="judge this library in this process and nothing else")
    file: Path | None = parser.parse_args().file
    if file is not None:
        print(judge(file))
        return 0
    failed = 0
    for requirement, members in LIBRARIES.items():
        for member in members:
            command = [sys.executable, __file__, "--file", str(downloaded(requirement, member))]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            failed += done.returncode != 0
            said = done.stdout.strip() if done.returncode == 0 else f"status {done.returncode}: {done.stderr}"
            print(f"{requirement} {Path(member).name}: {said}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
