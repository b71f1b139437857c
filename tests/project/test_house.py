"""The house as design/README.md draws it, and what stands in one place only.

Each test lists everything that is wrong at once.
"""

from __future__ import annotations

import ast
import pathlib
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter

ROOT = pathlib.Path(__file__).parents[2]


def sources(top: str, *endings: str) -> list[pathlib.Path]:
    return [path for path in sorted((ROOT / top).rglob("*")) if path.suffix in endings]


PYTHON = sources("optctx", ".py")
NATIVE = sources("native", ".cpp", ".hpp")
# The narrow doors, and modules that are not of this package's folders.
FREE = {"__init__", "lab/__init__", "__main__", "_native", "importing"}
# Of these folders a file is known by its name alone. The tools have names of their own.
CORE = {"arch", "image", "hosts", "plan", "engine", "values", "tasks", "reads", "drifting"}
CORE |= {"travelling", "context", "cache"}
DOORS = ("optctx/process.py", "optctx/compiling/facts.py")  # beside packages


@cache
def picture(top: str) -> dict[str, int]:
    """Folder, or module beside the folders -> its line in the picture."""
    text = (ROOT / "design" / "README.md").read_text()
    drawn = re.search(rf"^{top}/ .*\n(?: +.*\n)*", text, re.MULTILINE)
    assert drawn is not None
    lines: dict[str, int] = {}
    for number, line in enumerate(drawn[0].splitlines()):
        names = re.split(r" {2,}", line.removeprefix(f"{top}/").strip())[0]
        lines.update(dict.fromkeys(names.split(), number))
    return lines


def place(parts: Sequence[str]) -> str:
    """What the picture calls a module, by its path below optctx: a folder, of the lab one inside it."""
    return "/".join(parts[: 2 if parts[0] == "lab" else 1])


def place_of(file: pathlib.Path) -> str:
    return place(file.relative_to(ROOT / "optctx").with_suffix("").parts)


@cache
def text_of(file: pathlib.Path) -> str:
    return file.read_text("utf-8")


@cache
def tree_of(file: pathlib.Path) -> ast.Module:
    return ast.parse(text_of(file))


@cache
def imported(file: pathlib.Path, for_types: bool = True) -> frozenset[str]:
    """The dotted names that a file imports, those in functions included."""
    found: set[str] = set()
    waiting: list[ast.AST] = [tree_of(file)]
    while waiting:  # statements alone: no expression imports anything
        node = waiting.pop()
        if isinstance(node, ast.ImportFrom):
            found.update(f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Import):
            found.update(name.name for name in node.names)
        elif for_types or not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            for part in ("body", "orelse", "finalbody", "handlers", "cases"):
                waiting += below if isinstance(below := getattr(node, part, None), list) else []
    return frozenset(found)


def places(file: pathlib.Path) -> set[str]:
    """The folders and modules of optctx that a file imports."""
    return {place(name.split(".")[1:]) for name in imported(file) if name.startswith("optctx.")}


def circles(graph: Mapping[str, Set[str]]) -> list[str]:
    """One circle of those that there are, in words."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return [f"{' -> '.join(error.args[1])}: in a circle, through others or in functions"]
    return []


def undrawn(top: str) -> Iterator[str]:
    paths = [file.relative_to(ROOT / top).parts for file in sources(top, ".py", ".cpp", ".hpp")]
    folders = {place(path) if top == "optctx" else path[0] for path in paths}
    folders = {name for name in folders if (ROOT / top / name).is_dir()} - {"include"}
    drawn = {name for name in picture(top) if (ROOT / top / name).is_dir()}
    yield from (f"{top}/{name} is not drawn, or not there" for name in folders ^ drawn)


def wrong_imports(file: pathlib.Path) -> Iterator[str]:
    lines, own = picture("optctx"), place_of(file)
    is_tool = own.startswith("lab/") or own == "testing"
    for name in places(file) - FREE - {own} if own not in FREE else ():
        # The narrow door is for the tools.
        if lines[name] >= lines[own] if name in lines else not is_tool:
            yield f"{name}, which is not drawn above {own}"
        if is_tool and name in CORE:
            yield f"{name}: tools have the doors `optctx`, `optctx.compiling` and `optctx.process`"
    if is_tool and "_native" in places(file):
        yield "_native, of which tools take nothing"
    if own in CORE:
        yield from (f"{name}, a tool" for name in places(file) if name.startswith("lab/"))
    # Wheels have neither. Programs in strings count.
    yield from re.findall(r"\b(?:from|import) (evidence|tests)\b", text_of(file))


def test_imports_go_one_way() -> None:
    wrong = [f"{file.relative_to(ROOT)} imports {name}" for file in PYTHON for name in wrong_imports(file)]
    modules: dict[str, pathlib.Path] = {}
    for file in PYTHON:
        parts = file.relative_to(ROOT).with_suffix("").parts
        modules[".".join(parts[:-1] if file.stem == "__init__" else parts)] = file
    del modules["optctx"], modules["optctx.__main__"]  # the narrow door
    graph = {
        name: {
            each if each in modules else each.rpartition(".")[0] for each in imported(file, for_types=False)
        }
        & modules.keys() - {name}
        for name, file in modules.items()
    }
    assert "optctx.plan.plan" in graph["optctx.engine.engine"]
    wrong += [*circles(graph), *undrawn("optctx")]
    assert not wrong, "\n".join(wrong)


def test_includes_go_one_way() -> None:
    """A unit is a header with its source."""
    lines, wrong = picture("native"), []
    graph: dict[str, set[str]] = {}
    for file in NATIVE:
        own, *below = file.relative_to(ROOT / "native").parts
        names = re.findall(r'^#include "(?!optctx/)([\w./]+)"', text_of(file), re.MULTILINE)
        for name in {re.split(r"[/]", name)[0] for name in names} - {own} if below else ():
            if lines[name] >= lines[own]:  # the bindings stand below every folder
                wrong.append(f"{file.relative_to(ROOT)} includes {name}, which is not drawn above it")
        unit = str(file.relative_to(ROOT / "native").with_suffix("")).replace("/x86_64/", "/")
        found = {name.removesuffix(".hpp") for name in names if name.endswith(".hpp")}
        graph.setdefault(unit, set()).update(found - {unit})
    assert "contexts/context" in graph["contexts/activation"]
    # The one circle: a context that is destroyed drops the idle activations that were made for it.
    graph["contexts/context"].remove("contexts/activation")
    wrong += [*circles(graph), *undrawn("native")]
    assert not wrong, "\n".join(wrong)


@dataclass(frozen=True)
class Home:
    """The only files, as patterns of paths, in which a line may match."""

    files: tuple[str, ...]
    pattern: str
    sources: tuple[pathlib.Path, ...] = (*PYTHON, *NATIVE)
    comment: str = "\0"
    """What begins a comment; without it, comments count."""


HOMES = {
    "a processor": Home(
        ("*/x86_64/*",),
        r"\bREG_\w|\bgregs\b|\bmodrm|\biced_x86\b|\bcapstone\b",
    ),
    "reading LLVM's memory": Home(
        ("optctx/image/*.py",),
        r"\b(load_words|read_checked|walk_registry)\b",
        tuple(PYTHON),
    ),
    "mangled names": Home(
        # The second has what llvmlite alone calls, the third libstdc++'s, beside which any LLVM is loaded.
        ("optctx/image/facts/*.py", "optctx/hosts/llvmlite/lljit.py", "native/os/older_system.cpp"),
        r"(?<![A-Za-z0-9])_Z(N[0-9KS](?!.*NumbaEnv)|T[VISA]|L[0-9]|Z[LN]|GV|S[ta-z][0-9])",
        (*PYTHON, *NATIVE, *sources("optctx", ".h", ".hpp")),
    ),
    # fork takes the locks that it knows.
    "native locks": Home(
        ("native/os/fork_locks.?pp",),
        r"std::(recursive_|shared_|timed_|recursive_timed_|shared_timed_)?mutex\b|condition_variable"
        r"|once_flag|call_once|pthread_(mutex|cond|rwlock|spin|once)|atomic_flag"
        r"|counting_semaphore|binary_semaphore|std::(latch|barrier)",
        tuple(NATIVE),
        comment="//",
    ),
    # Made at the first call, under a lock of the compiler's.
    "static objects of functions": Home(
        ("native/os/fork_locks.cpp",),
        r"^\s+static (?!constexpr|constinit|inline)[^()={]*[={](?!\s*(false|true|nullptr|\d|[\"{}]|$))",
        tuple(NATIVE),
        comment="//",
    ),
    "Python's locks": Home(
        ("optctx/locks.py",),
        r"threading\.(R?Lock|Condition|(Bounded)?Semaphore|Event|Barrier)\b|allocate_lock|\bcached_property\b"
        r"|from threading import|from _thread import|import queue|\bQueue\(",
        tuple(PYTHON),
        comment="#",
    ),
    # Elsewhere, an underscore says what is a module's own.
    "lists of public names": Home(("__init__.py", *DOORS), r"^__all__\b", tuple(PYTHON)),
    "starting Python": Home(
        ("optctx/children/python.py",),
        r"\[sys\.executable|\bmultiprocessing\.[A-Z]|\bos\.(exec|posix_spawn|spawn)",
        tuple(PYTHON),
    ),
    "lowering limits": Home(("optctx/children/messages.py",), r"setrlimit\(", tuple(PYTHON)),
    # Through the doors, what is printed is made printable.
    "printing": Home(
        ("optctx/lab/command/console.py",),
        r"(?<![\w.])print\(|from rich\S* import (?!(\w+Column(, )?)+$)",
        tuple(file for file in PYTHON if file.parent.name == "command"),
    ),
}


def strays(name: str, home: Home) -> Iterator[str]:
    """Lines that match away from home."""
    at_home = 0
    for file in home.sources:
        path = file.relative_to(ROOT)
        is_home = any(path.match(each) for each in home.files)
        lines = text_of(file).splitlines() if re.search(home.pattern, text_of(file), re.MULTILINE) else ()
        for number, line in enumerate(lines, 1):
            if re.search(home.pattern, line.partition(home.comment)[0]):
                at_home += is_home
                if not is_home:
                    yield f"{name}: {path}:{number}: {line.strip()}"
    if not at_home:  # a pattern that finds nothing at home finds nothing elsewhere
        yield f"{name} is not at home"


def hosts_named(file: pathlib.Path) -> Iterator[str]:
    """What is common to all hosts asks the host of an image. What only users read may name llvmlite."""
    common = picture("optctx").get(place_of(file), 99) < picture("optctx")["hosts"]
    if common and "llvmlite" in text_of(file):
        nodes = [*ast.walk(tree_of(file))]
        names = {node.id for node in nodes if isinstance(node, ast.Name)} | imported(file)
        names |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        names |= {node.value for node in nodes if isinstance(node, ast.Constant) and node.value == "llvmlite"}
        yield from (f"{file.relative_to(ROOT)} names {name}" for name in names if "llvmlite" in name.lower())


def test_what_has_a_home_stands_nowhere_else() -> None:
    wrong = [line for name, home in HOMES.items() for line in strays(name, home)]
    wrong += [line for file in PYTHON for line in hosts_named(file)]
    names: dict[str, pathlib.Path] = {}
    for file in PYTHON:
        is_core = file.stem != "__init__" and (place_of(file) in CORE or file.parent == ROOT / "optctx")
        if is_core and names.setdefault(file.stem, file) != file:
            wrong.append(f"the core has {file} and {names[file.stem]}")
    assert not wrong, "\n".join(wrong)


def test_tests_import_no_test() -> None:
    """What tests share is a support module. Programs in strings count."""
    files = sources("tests", ".py")
    stems = {file.stem for file in files if file.stem.startswith("test_")}
    wrong = []
    for file in files:
        names = set(re.findall(r"\b(?:from|import) (?:tests\.[\w.]*)?(test_\w+)", text_of(file)))
        wrong += [f"{file.relative_to(ROOT)} imports {name}" for name in names & stems - {file.stem}]
    assert not wrong, "\n".join(wrong)
