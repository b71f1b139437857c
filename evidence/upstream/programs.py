"""Links programs and libraries against patched archives."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from evidence.shell import run

from .setup import Setup
from .stamps import digest, step

CPP = Path(__file__).parent / "cpp"
SYSTEM_LIBRARIES = ("-lz", "-lpthread", "-ldl", "-lm")


def patched_includes(setup: Setup) -> list[str]:
    """The patched headers and those that the build generated."""
    return [f"-I{setup.source / 'llvm' / 'include'}", f"-I{setup.objects / 'include'}"]


def compile_object(
    setup: Setup, source: Path, name: str, flags: Sequence[str], inputs: Iterable[Path] = ()
) -> Path:
    """Compiles one file to `linked/NAME.o`, unless it, the inputs and the flags are the same."""
    made = setup.linked / f"{name}.o"
    words = ["clang++-19", "-std=c++17", "-O2", "-DNDEBUG", "-fPIC", "-w", *flags]
    state = digest(source, words, *inputs)
    step(setup.stamps, f"object-{name}", state, made, lambda: run([*words, "-c", source, "-o", made]))
    return made


def link(
    setup: Setup,
    name: str,
    parts: Sequence[Path | str],
    archives: Sequence[Path],
    flags: Sequence[str] = ("-Wl,--gc-sections",),
) -> Path:
    """Links `linked/NAME`. Raises StepError with the linker's words."""
    made = setup.linked / name
    # Debian's own instantiations of cl::opt, for its objects that were not rebuilt.
    own = compile_object(
        setup, CPP / "stock_options.cpp", "stock_options", [f"-I{setup.llvm / 'include'}", "-frtti"]
    )
    state = digest(name, flags, *parts, [f"{path} {path.stat().st_mtime_ns}" for path in archives])

    def work() -> None:
        grouped: list[str | Path] = ["-Wl,--start-group", *archives, "-Wl,--end-group"]
        words: list[str | Path] = ["clang++-19", "-fuse-ld=gold", *flags, "-o", made]
        run([*words, *parts, own, *grouped, *SYSTEM_LIBRARIES])

    step(setup.stamps, f"program-{name}", state, made, work)
    return made
