"""The house as design/README.md draws it, and what stands in one place only; tests list all that is wrong."""

from __future__ import annotations

import ast
import pathlib
import re
import runpy
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from tests.support.rows import rows

ROOT = pathlib.Path(__file__).parents[2]


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


def imported(file: pathlib.Path) -> set[str]:
    """The folders and modules of optctx that a file imports, those in functions included."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module in ("optctx", "optctx.lab"):
            found.update(place([*node.module.split(".")[1:], name.name]) for name in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("optctx."):
            found.add(place((node.module or "").split(".")[1:]))
        elif isinstance(node, ast.Import):
            found.update(
                place(name.name.split(".")[1:]) for name in node.names if name.name.startswith("optctx.")
            )
    return found


def depends(file: pathlib.Path, modules: Set[str]) -> set[str]:
    """Those of the modules that a file imports at run time, in functions too."""
    tree = ast.parse(file.read_text())
    for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for statement in node.body
        for inner in ast.walk(statement)
    }
    found: set[str] = set()
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.ImportFrom):
            for name in node.names:
                found.add(each if (each := f"{node.module}.{name.name}") in modules else node.module or "")
        elif isinstance(node, ast.Import):
            found.update(name.name for name in node.names)
    return found & modules


def circles(graph: Mapping[str, Set[str]]) -> set[frozenset[str]]:
    """The strongly connected components with edges: each node that reaches itself, with all on such ways."""
    reached = {node: set(graph[node]) for node in graph}
    for middle in graph:  # Warshall's
        for found in reached.values():
            if middle in found:
                found |= reached[middle]
    return {
        frozenset({node} | {other for other in found if node in reached[other]})
        for node, found in reached.items()
        if node in found
    }


def included(file: pathlib.Path) -> set[str]:
    """The folders of native/ that a file includes, and headers beside them."""
    return set(re.findall(r'^#include "(?!optctx/)([\w.]+)', file.read_text(), re.MULTILINE))


def sources(top: str, *endings: str) -> list[pathlib.Path]:
    return [path for path in sorted((ROOT / top).rglob("*")) if path.suffix in endings]


PYTHON = sources("optctx", ".py")
NATIVE = sources("native", ".cpp", ".hpp")
# The narrow door, and modules that are not of this package's folders.
FREE = {"__init__", "__main__", "_native"}


def test_imports_go_one_way() -> None:
    lines, wrong = picture("optctx"), []
    for file in PYTHON:
        own = place(file.relative_to(ROOT / "optctx").with_suffix("").parts)
        for name in imported(file) - FREE - {own} if own not in FREE else ():
            # The narrow door is for the tools.
            if lines[name] >= lines[own] if name in lines else not own.startswith(("lab/", "testing", "tvm")):
                wrong.append(f"{file.relative_to(ROOT)} imports {name}")
    assert not wrong, "what is imported is drawn above it"


def test_what_is_common_to_all_hosts_names_none() -> None:
    """They ask the host of an image. What only users read, docstrings and advice, may name llvmlite."""
    lines, found = picture("optctx"), []
    for file in PYTHON:
        if lines.get(place(file.relative_to(ROOT / "optctx").with_suffix("").parts), 99) < lines["hosts"]:
            tree = ast.parse(file.read_text())
            names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
            names |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
            imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
            names |= {alias.name for node in imports for alias in node.names}
            names |= {node.module or "" for node in imports if isinstance(node, ast.ImportFrom)}
            texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
            names |= {"llvmlite"} & {text for text in texts if isinstance(text, str)}
            names = {name for name in names if "llvmlite" in name.lower()}
            found += [f"{file.relative_to(ROOT)} names {name}" for name in sorted(names)]
    assert not found


def test_no_files_import_each_other_in_a_circle() -> None:
    modules: dict[str, pathlib.Path] = {}
    for file in PYTHON:
        parts = file.relative_to(ROOT).with_suffix("").parts
        modules[".".join(parts[:-1] if file.stem == "__init__" else parts)] = file
    del modules["optctx"], modules["optctx.__main__"]  # the narrow door
    graph = {name: depends(file, modules.keys()) - {name} for name, file in modules.items()}
    assert "optctx.plan.plan" in graph["optctx.engine.thread_engine"]
    assert circles(graph) == set(), "files import each other, through others or in functions"


def test_the_way_of_the_image_through_attaching_grows_no_longer() -> None:
    """A change that shortens the way lowers these."""
    counted = runpy.run_path(str(ROOT / "design" / "way_of_image.py"))
    stops, files, climbs = counted["count"](counted["WITH_SURVEY"])
    assert stops <= 49
    assert files <= 15
    assert climbs <= 7


# A context that is destroyed drops the idle activations that were made for it.
NATIVE_CIRCLES = {frozenset({"contexts/context", "contexts/activation"})}


def test_no_units_include_each_other_in_a_circle() -> None:
    """A unit is a header with its source."""
    graph: dict[str, set[str]] = {}
    for file in NATIVE:
        unit = str(file.relative_to(ROOT / "native").with_suffix("")).replace("arch/x86_64/", "arch/")
        found = re.findall(r'^#include "(?!optctx/)([\w./]+)\.hpp"', file.read_text(), re.MULTILINE)
        graph.setdefault(unit, set()).update(set(found) - {unit})
    for unit in {each for found in graph.values() for each in found}:
        graph.setdefault(unit, set())
    assert circles(graph) == NATIVE_CIRCLES


def test_circles_are_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": set(), "f": {"g"}, "g": {"f", "a"}}
    assert circles(graph) == {frozenset("abc"), frozenset("fg")}


def test_includes_go_one_way() -> None:
    lines, wrong = picture("native"), []
    for file in NATIVE:
        own, *below = file.relative_to(ROOT / "native").parts
        for name in included(file) - {own} if below else ():  # the bindings stand below every folder
            if lines[name] >= lines[own]:
                wrong.append(f"{file.relative_to(ROOT)} includes {name}")
    assert not wrong, "what is included is drawn above it"


def test_every_folder_is_drawn() -> None:
    for top in ("optctx", "native"):
        paths = [file.relative_to(ROOT / top).parts for file in sources(top, ".py", ".cpp", ".hpp")]
        folders = {place(path) if top == "optctx" else path[0] for path in paths}
        folders = {name for name in folders if (ROOT / top / name).is_dir()}
        assert folders - {"include"} == {name for name in picture(top) if (ROOT / top / name).is_dir()}


# Of these folders a file is known by its name alone. The tools have names of their own.
CORE = {"arch", "image", "hosts", "plan", "engine", "trust", "values", "tasks", "reads", "drifting"}
CORE |= {"travelling", "context", "links", "folders", "cache"}


def test_the_tools_take_nothing_of_the_core_but_its_three_doors() -> None:
    """`optctx`, `optctx.facts` and `optctx.process`. No tool is a part of the core, either."""
    wrong = []
    for file in PYTHON:
        own = place(file.relative_to(ROOT / "optctx").with_suffix("").parts)
        if own.startswith("lab/") or own == "testing":
            wrong += [f"{file} imports {name}" for name in imported(file) & {*CORE, "_native"}]
        elif own in CORE:
            wrong += [f"{file} imports {name}" for name in imported(file) if name.startswith("lab/")]
    assert not wrong


def test_no_file_name_of_the_core_occurs_twice() -> None:
    names: dict[str, list[str]] = {}
    for folder in CORE:
        for file in sources(f"optctx/{folder}", ".py"):
            if file.stem != "__init__":
                names.setdefault(file.stem, []).append(str(file.relative_to(ROOT)))
    for file in sorted((ROOT / "optctx").glob("*.py")):
        names.setdefault(file.stem, []).append(str(file.relative_to(ROOT)))
    names.pop("__init__")
    assert {name: files for name, files in names.items() if len(files) > 1} == {}


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
        r"\b(load_words|load_text|walk_tree|read_checked|walk_registry)\b",
        tuple(PYTHON),
    ),
    "mangled names": Home(
        # The second has libstdc++'s, beside which any LLVM is loaded.
        ("optctx/image/facts/*.py", "native/os/older_system.cpp"),
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
        ("optctx/locks.py", "optctx/lazy.py"),
        r"threading\.(R?Lock|Condition|(Bounded)?Semaphore|Event|Barrier)\b|allocate_lock|\bcached_property\b"
        r"|from threading import|from _thread import|import queue|\bQueue\(",
        tuple(PYTHON),
        comment="#",
    ),
    "starting Python": Home(
        ("optctx/children/python.py",),
        r"\[sys\.executable|\bmultiprocessing\.[A-Z]|\bos\.(exec|posix_spawn|spawn)",
        tuple(PYTHON),
    ),
    "lowering limits": Home(("optctx/children/limits.py",), r"setrlimit\(", tuple(PYTHON)),
    # Through the doors, what is printed is made printable.
    "printing": Home(
        ("optctx/lab/command/console.py",),
        r"(?<![\w.])print\(|from rich\S* import (?!(\w+Column(, )?)+$)",
        tuple(file for file in PYTHON if file.parent.name == "command"),
    ),
}


def lines_that_match(home: Home) -> Iterator[tuple[bool, str]]:
    """Whether each is at home, and where it is."""
    for file in home.sources:
        path = file.relative_to(ROOT)
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
            if re.search(home.pattern, line.partition(home.comment)[0]):
                yield any(path.match(each) for each in home.files), f"{path}:{number}: {line.strip()}"


@rows("name", HOMES)
def test_what_has_a_home_stands_nowhere_else(name: str) -> None:
    found = list(lines_that_match(HOMES[name]))
    assert [where for at_home, where in found if not at_home] == []
    assert found, "a pattern that finds nothing at home finds nothing elsewhere"


PUBLIC = {"optctx", "optctx.compiling", "optctx.errors", "optctx.travelling"}
SHARED = {"optctx.lazy", "optctx.plain_data", "optctx.wording"}  # of no LLVM


def test_tvm_takes_public_names_only() -> None:
    found = {
        (file.name, node.module or "")
        for file in sources("optctx/tvm", ".py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "optctx"
    }
    assert {
        each for each in found if each[1] not in PUBLIC | SHARED and not each[1].startswith("optctx.tvm")
    } == set()


def test_the_package_imports_neither_the_evidence_nor_the_tests() -> None:
    """Wheels have neither. Programs in strings count."""
    pattern = re.compile(r"\b(?:from|import) (?:evidence|tests)\b")
    found = [str(file.relative_to(ROOT)) for file in PYTHON if pattern.search(file.read_text("utf-8"))]
    assert found == []


def test_no_file_imports_a_test_file() -> None:
    """What tests share is a support module. Programs in strings may import the file that they stand in."""
    files = sources("tests", ".py")
    stems = {file.stem for file in files if file.stem.startswith("test_")}
    found = [
        f"{file.relative_to(ROOT)} imports {name}"
        for file in files
        for name in re.findall(r"\b(?:from|import) (?:tests\.[\w.]*)?(test_\w+)", file.read_text("utf-8"))
        if name in stems - {file.stem}
    ]
    assert found == []


# Folders whose modules tests of other folders still name. The others can be rebuilt without a look at those.
OPEN = {"arch", "children", "engine", "folders", "image", "lab/command"}
OPEN |= {"lab/rank", "lab/sweep", "lab/trials", "lab/tuning", "testing"}


def test_a_folder_is_known_to_tests_of_other_folders_by_its_own_name() -> None:
    """They import names of the folder, and none of its modules, which can move."""
    modules = {
        f"optctx.{'.'.join(file.relative_to(ROOT / 'optctx').with_suffix('').parts)}"
        for file in PYTHON
        if file.parent.name not in ("optctx", "lab") and file.stem != "__init__"
    }
    found: dict[str, list[str]] = {}
    for file in sources("tests", ".py"):
        text = file.read_text("utf-8")
        names = set(re.findall(r"\b(?:from|import) (optctx\.\w+\.[\w.]+)", text))
        for folder, listed in re.findall(r"\bfrom (optctx\.(?:lab\.)?\w+) import (\([^)]*\)|[^\n#]*)", text):
            names |= {f"{folder}.{name}" for name in re.findall(r"\w+", listed)}
        for name in names & modules:
            folder = place(name.split(".")[1:])
            if folder.removeprefix("lab/") not in file.relative_to(ROOT).parts:
                found.setdefault(folder, []).append(f"{file.relative_to(ROOT)} imports {name}")
    assert {folder: wrong for folder, wrong in found.items() if folder not in OPEN} == {}
    assert found.keys() == OPEN, "whoever closes one takes it out of the list"
