"""The command that looks options up, and shows what changed between two LLVMs."""

from __future__ import annotations

import csv
import io
import json
import pathlib
import re
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from optctx import registry
from optctx.compiling.facts import Facts, OptionFacts, facts, load_facts
from optctx.lab.command import options_command
from optctx.lab.command.main import main

pytestmark = pytest.mark.usefixtures("attached")


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> Facts:
    """What the commands find, once."""
    found = facts()
    monkeypatch.setattr(options_command, "facts", lambda: found)
    return found


def changed(taken: Facts, **changes: Any) -> Facts:
    """The facts with changes of unroll-count."""

    def change(option: OptionFacts) -> OptionFacts:
        return msgspec.structs.replace(option, **changes) if option.name == "unroll-count" else option

    return msgspec.structs.replace(taken, options=tuple(map(change, taken.options)))


CHANGES: list[tuple[str, Any, str, str]] = [
    ("default", 7, "0", "7"),
    ("choices", {"a": "", "b": ""}, "", "a; b"),
    ("read_by", ("f(int)",), "llvm::computeUnrollCount", "f"),
]


@pytest.mark.parametrize(
    ("words", "rows"),
    [
        (["options", "unroll-*"], lambda data: data["options"]),
        (["options", "unroll-count", "--against"], lambda data: data["changes"]),
        (["sweep", "examples/kernel.ll", "--try", "unroll-count=1,2"], list),
    ],
)
def test_csv_has_a_line_for_each_entry_and_a_column_for_each_field(
    words: list[str],
    rows: Callable[[Any], list[dict[str, Any]]],
    taken: Facts,
    tmp_path: pathlib.Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    def out(form: str) -> str:
        assert main([*words, "--format", form]) == 0
        return capfd.readouterr().out

    if words[-1] == "--against":
        words.append(str(tmp_path / "old.json"))
        pathlib.Path(words[-1]).write_bytes(msgspec.json.encode(changed(taken, default=7)))
    wanted, (head, *lines) = rows(json.loads(out("json"))), csv.reader(io.StringIO(out("csv")))
    assert len(lines) == len(wanted) > 0
    for line, row in zip(lines, wanted, strict=True):
        cells = dict(zip(head, line, strict=True))
        for name, value in row.items():
            if isinstance(value, dict):
                assert {key: cells[f"{name}.{key}"] for key in value} == {
                    key: str(value[key]) for key in value
                }
            elif name != "seconds":
                assert cells[name] == {str: value, type(None): ""}.get(type(value), json.dumps(value)), name


def test_each_kind_of_change_is_shown_by_name(
    taken: Facts, tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "old.json"
    assert main(["options", "--format", "json"]) == 0
    file.write_text(capfd.readouterr().out)
    assert load_facts(file.read_bytes(), "it") == taken

    def out(*words: str) -> str:
        assert main(["options", *words, "--against", str(file)]) == 0
        return capfd.readouterr().out

    assert json.loads(out("--format", "json"))["totals"] == {
        **{"names in both": len(registry()), "added": 0, "removed": 0}
    }
    for field, value, now, before in CHANGES:
        file.write_bytes(msgspec.json.encode(changed(taken, **{field: value})))
        [change] = json.loads(out("--format", "json"))["changes"]
        what = field.replace("_", " ")
        assert change == {"name": "unroll-count", "what": what, "old": before, "new": now}
    gone = msgspec.structs.replace(taken.options[0], name="gone")
    other = changed(taken, default=9)
    file.write_bytes(msgspec.json.encode(msgspec.structs.replace(other, options=(*other.options, gone))))
    whole = out()
    assert re.search(r"^unroll-count +default +9 +0$", whole, re.MULTILINE)
    assert "removed: gone\n" in whole
    [change] = json.loads(out("unroll-*", "--format", "json"))["changes"]
    assert list(change.values()) == ["unroll-count", "default", "9", "0"]
    found = json.loads(out("gone", "--format", "json"))
    assert (found["totals"], found["removed"]) == ({"names in both": 0, "added": 0, "removed": 1}, ["gone"])
    assert json.loads(out("inline-threshold", "--format", "json"))["changes"] == []


@pytest.mark.usefixtures("taken")
def test_options_takes_parts_globs_types_scopes_and_readers(capfd: pytest.CaptureFixture[str]) -> None:
    def names(*arguments: str) -> set[str]:
        assert main(["options", *arguments, "--format", "json"]) == 0
        return {option["name"] for option in json.loads(capfd.readouterr().out)["options"]}

    options = registry()
    assert names() == set(options)
    assert names("oll-c") == {name for name in options if "oll-c" in name}
    assert names("unroll-*") == {name for name in options if name.startswith("unroll-")}
    assert "unroll-count" in names("--read-by", "computeUnrollCount") < set(options)
    # For people a line for each, in a pipe without spaces at its end.
    assert main(["options", "nroll-count"]) == 0
    head, *lines = capfd.readouterr().out.splitlines()
    assert head.split() == ["name", "type", "value", "scope", "help"]
    assert any(line.split()[:4] == ["unroll-count", "uint", "0", "thread"] for line in lines)
    assert all(line == line.rstrip() for line in lines)


@pytest.mark.usefixtures("taken")
def test_a_whole_name_prints_everything_about_the_option(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["options", "unroll-count"]) == 0
    text = capfd.readouterr().out
    assert main(["options", "--format", "json", "--", "-unroll-count"]) == 0
    [data] = json.loads(capfd.readouterr().out)["options"]
    assert (data["name"], data["type"], data["scope"]) == ("unroll-count", "uint", "thread")
    assert [each.partition("(")[0] for each in data["read_by"]] == ["llvm::computeUnrollCount"]
    labels = {line.partition("  ")[0] for line in text.splitlines()}
    assert labels >= {field.replace("_", " ") for field in data}
    assert data["help"] in text
