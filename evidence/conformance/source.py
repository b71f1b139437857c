"""Fetches `llvm/test` from Debian's source package into a cache folder; nothing system-wide changes."""

from __future__ import annotations

import os
import re
from pathlib import Path

from evidence.shell import StepError, run

_PACKAGE = "llvm-toolchain-19"
_COMPLETE = ".complete"
_DOWNLOADED = ".downloaded"
_APT_CONFIG = """\
Dir::Etc::sourcelist "{root}/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::State "{root}/state";
Dir::State::status "/var/lib/dpkg/status";
Dir::Cache "{root}/cache";
APT::Sandbox::User "";
"""


def default_cache() -> Path:
    """Where the tests are kept: $OPTCTX_CONFORMANCE_CACHE, or a folder in the user's cache."""
    named = os.environ.get("OPTCTX_CONFORMANCE_CACHE")
    if named:
        return Path(named)
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(caches) / "optctx-conformance"


def llvm_tests(cache: Path) -> Path:
    """The folder `llvm/test`, fetched on first use (about 165 MB). Raises StepError."""
    tests = cache / "src" / "llvm" / "test"
    if (cache / _COMPLETE).exists():
        return tests
    package = source_package(cache)
    archives = sorted(cache.glob(f"{_PACKAGE}_*.orig.tar.xz"))
    if not archives:
        raise StepError(f"{package.name} came without an .orig.tar.xz in {cache}")
    _extract(archives[-1], cache / "src")
    (cache / _COMPLETE).touch()
    return tests


def source_package(cache: Path) -> Path:
    """The .dsc of the whole package, downloaded on first use. Raises StepError."""
    if not (cache / _DOWNLOADED).exists():
        cache.mkdir(parents=True, exist_ok=True)
        _apt(cache, "update")
        _apt(cache, "source", "--download-only", _PACKAGE)
        (cache / _DOWNLOADED).touch()
    packages = sorted(cache.glob(f"{_PACKAGE}_*.dsc"))
    if not packages:
        raise StepError(f"apt-get source {_PACKAGE} left no .dsc in {cache}")
    return packages[-1]


def _extract(archive: Path, into: Path) -> None:
    into.mkdir(exist_ok=True)
    run(["tar", "-xJf", archive, "-C", into, "--strip-components=1", "--wildcards", "*/llvm/test/*"])


def _apt(cache: Path, *words: str) -> None:
    """apt-get with package lists and a sources.list of its own, so that it needs no root."""
    root = cache.resolve() / "apt"
    for folder in ("state/lists/partial", "cache/archives/partial"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    (root / "sources.list").write_text("\n".join(_source_lines()) + "\n")
    (root / "apt.conf").write_text(_APT_CONFIG.format(root=root))
    run(["apt-get", *words], folder=cache, environment={"APT_CONFIG": str(root / "apt.conf")})


def _source_lines() -> list[str]:
    """deb-src lines for the places that this system takes its own release from."""
    release = Path("/etc/os-release").read_text()
    found = re.search(r"^VERSION_CODENAME=(\w+)", release, re.M)
    if not found:
        raise StepError("this system does not say which Debian release it is (VERSION_CODENAME)")
    suite = found[1]
    lines: list[str] = []
    for path in [Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*"))]:
        if not path.is_file():
            continue
        read = _stanzas if path.suffix == ".sources" else _one_lines
        lines += read(path.read_text(), suite)
    if not lines:
        raise StepError(f"no package source of this system serves {suite}; is this Debian?")
    return lines


def _one_lines(text: str, suite: str) -> list[str]:
    lines = []
    for line in text.splitlines():
        found = re.match(rf"deb(?:-src)?\s+(\[.*\]\s+)?(\S+)\s+{suite}\s+(.*)", line)
        if found:
            lines.append(f"deb-src {found[1] or ''}{found[2]} {suite} {found[3]}")
    return lines


def _stanzas(text: str, suite: str) -> list[str]:
    lines = []
    for stanza in re.split(r"\n\s*\n", text):
        fields = dict(re.findall(r"^([\w-]+):\s*(.*)$", stanza, re.M))
        if suite not in fields.get("Suites", "").split():
            continue
        key = fields.get("Signed-By")
        signed = f"[signed-by={key}] " if key else ""
        for place in fields.get("URIs", "").split():
            lines.append(f"deb-src {signed}{place} {suite} {fields.get('Components', 'main')}")
    return lines
