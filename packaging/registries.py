"""Read the registries of options in the LLVMs of other packages, and have these LLVMs free copies of them.

`make registries` downloads each wheel into build/registries (two gigabytes in all), loads its library in a
fresh process, walks the map of registered options, copies it, and calls the library's own DenseMap::grow on
the copy: LLVM reads every bucket, and frees the copy's memory by the size that it works out itself. Then the
copy and the registry must hold the same options as before. The functions are local; nm, of binutils, finds
them.
"""

from __future__ import annotations

import argparse
import ctypes
import subprocess
import sys
import zipfile
from pathlib import Path

from optctx._native import RegistryCopy, walk_registry

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
GROW = (
    "_ZN4llvm12DenseMapBaseINS_8DenseMapINS_9StringRefEPNS_2cl6OptionENS_12DenseMapInfoIS2_vEE"
    "NS_6detail12DenseMapPairIS2_S5_EEEES2_S5_S7_SA_E4growEj"
)
OPTIONS_IN_SUBCOMMAND = 0x80  # bytes
LARGER = 1 << 15  # buckets
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
    return {
        name: base + int(places[name], 16)
        for name in (TOP_LEVEL, REGISTERED, MANAGED, GROW)
        if name in places
    }


def registered_options(at: dict[str, int]) -> int:
    if REGISTERED in at:
        return int(Function(at[REGISTERED])(Function(at[TOP_LEVEL])(None, 0), 0))
    return ctypes.c_uint64.from_address(at[MANAGED]).value + OPTIONS_IN_SUBCOMMAND


def judge(path: Path) -> str:
    at = addresses(path)
    registry = registered_options(at)
    layout, options = walk_registry(registry)
    copy = RegistryCopy(layout, registry, {})
    assert walk_registry(copy.map) == (layout, options), "the copy is another registry"
    done = "read and copied"
    if layout != "StringMap":
        head = ctypes.string_at(copy.map, 40)
        Function(at[GROW])(copy.map, LARGER)
        assert ctypes.string_at(copy.map, 40) != head, "LLVM did not move the copy"
        assert walk_registry(copy.map) == (layout, options), "LLVM made another registry of the copy"
        done += ", moved and freed by LLVM"
    assert walk_registry(registry) == (layout, options), "the registry itself changed"
    return f"{layout}, {len(options):,} names: {done}"


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
