"""Builds objects of the patched source with ninja, and puts them into copies of Debian's archives."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from evidence.shell import StepError, run

from . import objects
from .objects import Library, Member
from .setup import Setup
from .stamps import digest, step

_OTHER = (
    "AArch64 AMDGPU ARM AVR BPF Hexagon Lanai LoongArch M68k MSP430 Mips NVPTX PowerPC RISCV Sparc SystemZ "
    "VE WebAssembly XCore Xtensa BOLT Exegesis FuzzMutate FuzzerCLI TableGen"
)
_OTHER_TARGETS = tuple(f"libLLVM{name}" for name in _OTHER.split())
# Built as a whole: half of it changes, and the rest is quick.
_WHOLE = frozenset({"LLVMSupport"})


class Builder:
    """Debian's archives, the configured build, and which object belongs where."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self.stock: Library = objects.read_objects(self.archives())
        self._targets = self._read_targets()

    def archives(self) -> list[Path]:
        """Debian's archives for X86 and for what all targets share."""
        found = sorted(self._setup.archives.glob("libLLVM*.a"))
        return [path for path in found if not path.name.startswith(_OTHER_TARGETS)]

    def ninja(self, targets: Iterable[str], log: str) -> None:
        """Builds what is out of date. Raises StepError that names the log."""
        words = ["ninja", "-C", str(self._setup.objects), *targets]
        run(words, environment={"CCACHE_NOHASHDIR": "1"}, log=self._setup.logs / f"{log}.log")

    def members(self, names: Iterable[str]) -> set[Member]:
        """`LLVMScalarOpts/LICM.cpp` -> the member of that archive. Raises StepError."""
        found = {(name.split("/")[0], name.split("/")[1] + ".o") for name in names}
        for member in found:
            if member not in self.stock or member not in self._targets:
                raise StepError(f"no object {member[1]} in Debian's lib{member[0]}.a or in the patched build")
        return found

    def can_build(self, member: Member) -> bool:
        """Whether the configured build has an object of that archive and name."""
        return member in self._targets

    def build_closure(self, wanted: set[Member], linked: set[Member]) -> set[Member]:
        """Builds these, and those that can no longer be linked with them.

        What has a type with the patches' tag has another name than in a stock object. So a stock reader of a
        rebuilt option does not link, nor does a rebuilt reader of a stock one. The other side is built too,
        until none is left. `linked` are the stock members that matter.
        """
        done: set[Member] = set()
        todo = {member for member in wanted if member[0] not in _WHOLE}
        while todo - done:
            done |= todo
            self.ninja((self._targets[member] for member in sorted(done)), "objects")
            rebuilt = self.rebuilt(done)
            reached = objects.users(self.stock, objects.lost_symbols(self.stock, rebuilt), linked)
            reached |= objects.definers(self.stock, objects.missing_symbols(self.stock, rebuilt))
            todo = {member for member in reached if member[0] not in _WHOLE and member in self._targets}
        return done

    def rebuilt(self, members: Iterable[Member]) -> Library:
        """The symbols of built objects."""
        paths = {str(self.object(member)): member for member in members}
        return {paths[name[1]]: symbols for name, symbols in objects.read_objects(map(Path, paths)).items()}

    def object(self, member: Member) -> Path:
        return self._setup.objects / self._targets[member]

    def replace(self, members: set[Member]) -> list[Path]:
        """Archives to link with: Debian's, or copies in which these members are replaced by rebuilt ones."""
        changed = objects.by_archive(members)
        result = []
        for stock in self.archives():
            name = stock.name.removeprefix("lib").removesuffix(".a")
            if name in _WHOLE:
                result.append(self._setup.objects / "lib" / stock.name)
            elif name in changed:
                result.append(self._copy(stock, [self.object((name, file)) for file in changed[name]]))
            else:
                result.append(stock)
        return result

    def _copy(self, stock: Path, replaced: Sequence[Path]) -> Path:
        copy = self._setup.linked / stock.name

        def work() -> None:
            shutil.copy(stock, copy)
            run(["ar", "r", copy, *replaced])

        step(self._setup.stamps, f"archive-{stock.stem}", digest(stock.name, *replaced), copy, work)
        return copy

    def _read_targets(self) -> dict[Member, str]:
        """The objects that ninja can build, by archive and file name. Two of the same name are left out."""
        found: dict[Member, list[str]] = defaultdict(list)
        for line in run(["ninja", "-C", self._setup.objects, "-t", "targets", "all"]).splitlines():
            target = line.split(":")[0]
            if ".dir/" in target and target.endswith(".o"):
                library = target.split(".dir/")[0].split("/")[-1]
                found[library, target.split("/")[-1]].append(target)
        return {member: targets[0] for member, targets in found.items() if len(targets) == 1}
