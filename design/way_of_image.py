"""Follow the parameter `image` through attaching: how many calls pass it on, and how many climb.

`python design/way_of_image.py` counts, `--list` lists. A stop is a call that passes the image on, by whatever
name, or out of an object that holds it (`survey.image`, `self.image`), each place in the code counted once. A
climb is one into a folder that the picture in design/README.md draws above. The second line counts calls that
pass the survey on, too, because that holds the image: without it, hiding the image in another value would
look like a shorter way.
"""

from __future__ import annotations

import ast
import pathlib
import re
import sys
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).parents[1]
START = ("optctx.engine.attach", "_choose")
IMAGE = frozenset({"image", "_image"})
WITH_SURVEY = IMAGE | {"survey", "surveyed"}


@dataclass
class Module:
    """Functions by name (of methods: "Class.method"), and what imported names stand for."""

    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    imported: dict[str, tuple[str, str]] = field(default_factory=dict)


def modules() -> dict[str, Module]:
    found: dict[str, Module] = {}
    for file in sorted((ROOT / "optctx").rglob("*.py")):
        name = ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        module = found[name] = Module()
        tree = ast.parse(file.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("optctx"):
                for each in node.names:
                    module.imported[each.asname or each.name] = (node.module or "", each.name)
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                module.functions[node.name] = node
            elif isinstance(node, ast.ClassDef):
                for each in node.body:
                    if isinstance(each, ast.FunctionDef):
                        module.functions[f"{node.name}.{each.name}"] = each
    return found


MODULES = modules()


def resolve(module: str, called: ast.expr, own_class: str) -> tuple[str, str] | None:
    """(module, function) of a call in a module; of a class, its `__init__`."""
    if isinstance(called, ast.Attribute):
        if isinstance(called.value, ast.Name) and called.value.id in ("self", "cls"):
            name = f"{own_class}.{called.attr}"
        elif isinstance(called.value, ast.Name):
            name = f"{called.value.id}.{called.attr}"
        else:
            return None
    elif isinstance(called, ast.Name):
        name = called.id
    else:
        return None
    for _ in range(5):
        functions = MODULES[module].functions
        for found in (name, f"{name}.__init__"):
            if found in functions:
                return module, found
        head, dot, rest = name.partition(".")
        if head not in MODULES[module].imported:
            return None
        module, head = MODULES[module].imported[head]
        name = f"{head}{dot}{rest}"
        if module not in MODULES:
            return None
    return None


def stops(first: frozenset[str]) -> list[tuple[str, str, int, str, str]]:
    """(module, function, line, called module, called function) of each call that passes the image on."""
    waiting, known, found = [(*START, first)], set(), []
    while waiting:
        module, function, names = waiting.pop()
        if (module, function, names) in known:
            continue
        known.add((module, function, names))
        for call in ast.walk(MODULES[module].functions[function]):
            if not isinstance(call, ast.Call):
                continue
            passed = [at for at, given in enumerate(call.args) if is_image(given, names)]
            passed_by_name = [each.arg for each in call.keywords if is_image(each.value, names)]
            target = resolve(module, call.func, function.rpartition(".")[0])
            if target is None or not (passed or passed_by_name):
                continue
            found.append((module, function, call.lineno, *target))
            parameters = [each.arg for each in MODULES[target[0]].functions[target[1]].args.args]
            if "." in target[1]:
                parameters = parameters[1:]
            taken = {parameters[at] for at in passed if at < len(parameters)}
            taken |= {each for each in passed_by_name if each is not None}
            waiting.append((*target, first | taken))
            if target[1].endswith(".__init__"):  # an object that holds the image: its methods pass it on
                of_class = target[1].removesuffix("__init__")
                methods = (each for each in MODULES[target[0]].functions if each.startswith(of_class))
                waiting.extend((target[0], each, first) for each in methods)
    return sorted(set(found))


def is_image(given: ast.expr, names: frozenset[str]) -> bool:
    if isinstance(given, ast.Name):
        return given.id in names
    return isinstance(given, ast.Attribute) and given.attr in names


def lines() -> dict[str, int]:
    """Return the line of each folder in the picture."""
    drawn = re.search(r"^optctx/ .*\n(?: +.*\n)*", (ROOT / "design" / "README.md").read_text(), re.MULTILINE)
    assert drawn is not None
    return {
        name: number
        for number, line in enumerate(drawn[0].splitlines())
        for name in re.split(r" {2,}", line.removeprefix("optctx/").strip())[0].split()
    }


def count(first: frozenset[str]) -> tuple[int, int, int]:
    """(stops, files, climbs)."""
    found, drawn = stops(first), lines()
    climbs = [stop for stop in found if drawn[stop[3].split(".")[1]] < drawn[stop[0].split(".")[1]]]
    return len(found), len({stop[0] for stop in found} | {stop[3] for stop in found}), len(climbs)


def main() -> None:
    if "--list" in sys.argv:
        for module, function, line, called, name in stops(WITH_SURVEY):
            print(f"{module}:{line} {function} -> {called} {name}")
    for what, first in (("the image", IMAGE), ("the image or the survey", WITH_SURVEY)):
        passed, files, climbs = count(first)
        print(f"{what}: {passed} stops in {files} files, {climbs} climbs")


if __name__ == "__main__":
    main()
