"""What changed between two LLVMs, files of options, and the command that shows and compares options."""

from __future__ import annotations

import csv
import io
import json
import pathlib
import re
from typing import Any

import msgspec
import pytest

from optctx import registry
from optctx.facts import Facts, OptionFacts, Reader, facts
from optctx.lab.command import options_command
from optctx.lab.command.main import main
from optctx.lab.lookup import compare, facts_as_json, load_facts
from tests.support.facts_files import HEAD, OPTION
from tests.support.rows import rows

pytestmark = pytest.mark.usefixtures("attached")


@pytest.fixture(scope="module")
def taken() -> Facts:
    return facts()


def changed(taken: Facts, **changes: Any) -> Facts:
    """The facts with changes of unroll-count."""

    def change(option: OptionFacts) -> OptionFacts:
        return msgspec.structs.replace(option, **changes) if option.name == "unroll-count" else option

    return msgspec.structs.replace(taken, options=tuple(map(change, taken.options)))


CHANGES: list[tuple[str, dict[str, Any], str, str]] = [
    ("type", {"type": "int"}, "uint", "int"),
    ("storage", {"storage": "external"}, "internal", "external"),
    ("default", {"default": 7}, "0", "7"),
    ("library", {"library": "ipo"}, "ScalarOpts", "ipo"),
    ("refused", {"scope": "process", "reason": "why"}, "thread", "why"),
    ("copied once", {"copied_once": True}, "no", "yes"),
    ("callback", {"callback": True}, "no", "yes"),
    ("readers", {"readers": (Reader("f(int)", "ipo", 3, occurrences=2),)}, "llvm::computeUnrollCount", "f"),
]


def test_each_kind_of_change_is_found(taken: Facts) -> None:
    for what, changes, old, new in CHANGES:
        [found] = compare(taken, changed(taken, **changes)).changes
        assert (found.name, found.what, found.old, found.new) == ("unroll-count", what, old, new)
    [back] = compare(changed(taken, scope="process", reason="why"), taken).changes
    assert (back.what, back.old, back.new) == ("no longer refused", "why", "thread")
    same, fewer = compare(taken, taken), taken.only(lambda option: option.name != "unroll-count")
    assert (same.changes, same.totals) == ((), {"names in both": len(registry()), "added": 0, "removed": 0})
    assert compare(fewer, taken).added == compare(taken, fewer).removed == ("unroll-count",)


def test_a_file_is_compared_with_the_library_in_use(
    taken: Facts, tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "old.json"
    assert main(["options", "--format", "json"]) == 0
    assert load_facts(capfd.readouterr().out.encode(), "it") == taken
    gone = msgspec.structs.replace(taken.options[0], name="gone")
    before = changed(taken, default=9)
    file.write_text(facts_as_json(msgspec.structs.replace(before, options=(*before.options, gone))))

    def out(*words: str) -> str:
        assert main(["options", *words, "--against", str(file)]) == 0
        return capfd.readouterr().out

    whole = out()
    assert re.search(r"^unroll-count +default +9 +0$", whole, re.MULTILINE)
    assert "removed: gone\n" in whole
    found = json.loads(out("--format", "json"))
    change = {"name": "unroll-count", "what": "default", "old": "9", "new": "0"}
    assert (found["changes"], found["removed"], found["totals"]["names in both"]) == (
        [change],
        ["gone"],
        len(registry()),
    )
    assert out("unroll-*", "--format", "csv") == "option,change,old,new\nunroll-count,default,9,0\n"
    assert json.loads(out("gone", "--format", "json"))["totals"] == {
        "names in both": 0,
        "added": 0,
        "removed": 1,
    }
    assert out("inline-threshold", "--format", "csv") == "option,change,old,new\n"


@rows(
    ("text", "words"),
    [
        ("{", "input data was truncated"),
        ("[]", "expected `object`, got `array`"),
        (json.dumps({**HEAD, "format": "optctx options 2", "options": []}), "invalid enum value"),
        (json.dumps(HEAD), "missing required field `options`"),
        (
            json.dumps({**HEAD, "options": [{**OPTION, "callback": 1}]}),
            "got `int` - at `$.options[0].callback`",
        ),
        (json.dumps({**HEAD, "options": [{**OPTION, "more": 1}]}), "unknown field `more`"),
        (json.dumps({**HEAD, "options": [{**OPTION, "help": "x" * 70_000}]}), "length <= 65536"),
        (json.dumps({**HEAD, "options": [{**OPTION, "value": [2**64]}]}), "'a' of at most 64 bits"),
    ],
)
def test_another_file_gets_one_clear_error(
    text: str, words: str, tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "it.json"
    path.write_text(text)
    assert main(["options", "--against", str(path)]) == 2
    out, err = capfd.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert words in err
    assert str(path) in err


@pytest.fixture
def known(taken: Facts, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the commands find, which takes half a second."""
    monkeypatch.setattr(options_command, "facts", lambda readers=True: taken)


@pytest.mark.usefixtures("known")
def test_options_takes_parts_globs_types_scopes_libraries_and_readers(
    capfd: pytest.CaptureFixture[str],
) -> None:
    def names(*arguments: str) -> set[str]:
        assert main(["options", *arguments, "--format", "json"]) == 0
        return {option["name"] for option in json.loads(capfd.readouterr().out)["options"]}

    options = registry()
    assert names() == set(options)
    assert names("oll-c") == {name for name in options if "oll-c" in name}
    assert names("unroll-*") == {name for name in options if name.startswith("unroll-")}
    own = names("--type", "uint", "--scope", "thread")
    assert own == {name for name, each in options.items() if (each.type, each.scope) == ("uint", "thread")}
    assert "unroll-count" in names("--library", "ScalarOpts") < set(options)
    assert "unroll-count" in names("--read-by", "computeUnrollCount") < set(options)
    # For people a line for each, in a pipe without spaces at its end.
    assert main(["options", "nroll-count"]) == 0
    head, *lines = capfd.readouterr().out.splitlines()
    assert head.split() == ["name", "type", "value", "scope", "help"]
    assert any(line.split()[:4] == ["unroll-count", "uint", "0", "thread"] for line in lines)
    assert all(line == line.rstrip() for line in lines)
    assert main(["options", "unroll-c*", "--format", "csv"]) == 0
    found = {row["name"]: row for row in csv.DictReader(io.StringIO(capfd.readouterr().out))}
    assert found["unroll-count"]["read_by"].startswith("llvm::computeUnrollCount(")


@pytest.mark.usefixtures("known")
def test_a_whole_name_prints_everything_about_the_option(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["options", "unroll-count"]) == 0
    text = capfd.readouterr().out
    assert main(["options", "--format", "json", "--", "-unroll-count"]) == 0
    [data] = json.loads(capfd.readouterr().out)["options"]
    assert (data["name"], data["type"], data["scope"]) == ("unroll-count", "uint", "thread")
    assert [each["function"].partition("(")[0] for each in data["readers"]] == ["llvm::computeUnrollCount"]
    labels = {line.partition("  ")[0] for line in text.splitlines()}
    assert labels >= {field.replace("_", " ") for field in data}
    assert data["help"] in text


def test_a_notebook_shows_tables(taken: Facts) -> None:
    page = msgspec.structs.replace(taken, library="<b>").only(lambda option: option.name == "x86-asm-syntax")
    assert "<td>x86-asm-syntax</td>" in page._repr_html_()
    assert "<b>" not in page._repr_html_()
    found = compare(taken, changed(taken, default=9))
    assert "<td>default</td><td>unroll-count</td><td>0</td><td>9</td>" in found._repr_html_()
    assert len(repr(taken)) < 200 > len(repr(found))
