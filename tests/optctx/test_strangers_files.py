"""Files that other people made: one clear error, soon, that names the file, the place and what is there."""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import os
import pathlib
import resource
import signal
import sqlite3
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from optctx import OptionContext
from optctx.errors import OptctxError
from optctx.fresh.helper import address_space
from optctx.lab.census import load_census
from optctx.lab.census.saved import MOST_BYTES
from optctx.lab.command.files import read_file
from optctx.lab.timing import Harness, read_case
from optctx.lab.tuning import Budget, journal, tune
from optctx.lab.tuning.budget import MOST_TRIALS
from optctx.lab.tuning.study_file import Steps
from optctx.toml import parse_toml
from optctx.tvm import Target
from tests.support.census_files import HEAD as CENSUS
from tests.support.census_files import OPTION
from tests.support.processes import in_child
from tests.support.tuning_cases import JOB, loops

MEMORY = 2 << 30  # bytes, of which it takes a small part
SECONDS = 60  # far more than any of it takes; nothing of it may hang
ARGUMENTS: dict[str, Any] = {"job": JOB, "space": loops(), "seed": 5}

DIGITS = "9" * 900_000
DEEP = "[" * 100_000 + "]" * 100_000
NUMBERS = {
    DIGITS: r"found 9{40}\.\.\. \(900,000 characters\)",
    "1e400": "found 1e400",
    str(10**400): r"found 10{39}\.\.\. \(401 characters\)",
    str(1 << 64): "found 18446744073709551616",
    "NaN": "found NaN",
    "-Infinity": "found -Infinity",
}


def refused(work: Callable[[], object], words: str) -> None:
    refused_all([(work, words)])


def refused_all(works: Sequence[tuple[Callable[[], object], str]]) -> None:
    """Have a child do each work, which has to end soon with one OptctxError of one short line."""

    def task() -> None:
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        if hard == resource.RLIM_INFINITY:
            resource.setrlimit(resource.RLIMIT_AS, (address_space() + MEMORY, hard))
        for work, words in works:
            signal.alarm(SECONDS)  # its default action ends a child that hangs in SQLite, too
            with pytest.raises(OptctxError, match=words) as caught:
                work()
            assert "\n" not in str(caught.value)
            assert len(str(caught.value)) < 1000

    in_child(task)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a study of three trials."""
    file = tmp_path_factory.mktemp("template") / "study.db"
    tune(**ARGUMENTS, study=str(file), budget=Budget(trials=3))
    return file.read_bytes()


ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n"
MORE = f"WITH RECURSIVE r(n) AS (SELECT 100 UNION ALL SELECT n + 1 FROM r LIMIT {3 * MOST_TRIALS})"
BROUGHT = {
    "a view of trials": (
        "ALTER TABLE trials RENAME TO hidden; CREATE VIEW trials AS "
        f"{ENDLESS} AS trial_id, n AS number, 1 AS study_id, 'COMPLETE' AS state, NULL AS datetime_start, "
        "NULL AS datetime_complete FROM r",
        "found the view 'trials'",
    ),
    "a view of studies": (
        "ALTER TABLE studies RENAME TO hidden; CREATE VIEW studies AS "
        f"{ENDLESS} AS study_id, 'another' AS study_name FROM r",
        "found the view 'studies'",
    ),
    "a view of releases": (
        "DROP TABLE alembic_version; CREATE VIEW alembic_version AS "
        f"{ENDLESS} AS version_num FROM r WHERE n < 0",
        "found the view 'alembic_version'",
    ),
    "a trigger": (
        "CREATE TRIGGER more AFTER INSERT ON trials BEGIN UPDATE studies SET study_name = 'x'; END",
        "found the trigger 'more'",
    ),
    "a generated column": (
        "ALTER TABLE trials ADD COLUMN more AS (hex(zeroblob(100000000)))",
        "found the table 'trials'",
    ),
    "a check": (
        "ALTER TABLE trials ADD COLUMN more INTEGER CHECK (more IS NULL OR length(zeroblob(100000000)) = 7)",
        "found the table 'trials'",
    ),
    "an index of an expression": (
        "CREATE INDEX more ON trials (length(hex(zeroblob(1000 * trial_id))))",
        "found the index 'more'",
    ),
    "an index of some rows": ("CREATE INDEX more ON trials (state) WHERE state > 'A'", "the index 'more'"),
    "a virtual table": ("CREATE VIRTUAL TABLE more USING fts5(a)", "found the table 'more'"),
    "tables": ("".join(f"CREATE TABLE t{n} (a);" for n in range(200)), "more than 100 tables and indices"),
    "300,000 trials": (
        f"INSERT INTO trials {MORE} SELECT n, n, 1, 'COMPLETE', NULL, NULL FROM r",
        f"more than {MOST_TRIALS:,} trials",
    ),
    "a long text": (
        "UPDATE trial_user_attributes SET value_json = hex(zeroblob(1000000))",
        "row 1 of trial_user_attributes, value_json: expected JSON of at most 1,048,576 bytes",
    ),
    "deep lists": (
        f"UPDATE trial_user_attributes SET value_json = '{DEEP}'",
        "row 1 of trial_user_attributes, value_json: expected at most 32 levels",
    ),
    "levels of our own": (
        f"UPDATE study_user_attributes SET value_json = '{'[' * 40 + ']' * 40}'",
        "row 1 of study_user_attributes, value_json: expected at most 32 levels, found more for",
    ),
    "a distribution": (
        f"UPDATE trial_params SET distribution_json = replace(distribution_json, '8}}', '{10**400}}}')",
        r"row 1 of trial_params, distribution_json: .* for attributes\.high, found 10*\.\.\. \(401",
    ),
}


def test_a_study_that_brings_more_than_rows_is_refused(template: bytes, tmp_path: pathlib.Path) -> None:
    refuse_studies(template, tmp_path, list(BROUGHT.values()))


def test_a_number_in_a_study_that_python_does_not_hold_is_refused(
    template: bytes, tmp_path: pathlib.Path
) -> None:
    record = {"number": 0, "state": "ok", "seconds": 0.5, "error": "", "attributes": {}, "more": 0}
    studies = []
    for key, number in itertools.product(("seconds", "number", "more"), NUMBERS):
        written = json.dumps({**record, key: "HERE"}).replace('"HERE"', number)
        script = f"UPDATE trial_user_attributes SET value_json = '{written}' WHERE trial_id = 2"
        words = rf"row 2 of trial_user_attributes, value_json: .* for {key}, {NUMBERS[number]}"
        studies.append((script, words))
    refuse_studies(template, tmp_path, studies)


def refuse_studies(template: bytes, folder: pathlib.Path, studies: list[tuple[str, str]]) -> None:
    """Change a study by each script; resuming it has to be refused with these words and leave it as it is."""
    works, contents = [], {}
    for number, (script, words) in enumerate(studies):
        file = folder / f"study{number}.db"
        file.write_bytes(template)
        with contextlib.closing(sqlite3.connect(file)) as database:
            database.executescript(script)
        contents[file] = file.read_bytes()
        where = rf"cannot read the study in .*study{number}\.db: .*{words}.*; name another file"
        works.append((functools.partial(tune, **ARGUMENTS, study=str(file), resume=True), where))
    refused_all(works)
    assert [file for file, content in contents.items() if file.read_bytes() != content] == []


@pytest.mark.parametrize("table", ["trials", "trial_user_attributes"])
def test_rows_without_end_end(table: str, template: bytes, tmp_path: pathlib.Path) -> None:
    """Pages whose 200 children are one and the same page, six levels of them, above the three rows."""
    file = tmp_path / "study.db"
    file.write_bytes(template)
    with contextlib.closing(sqlite3.connect(file)) as database:
        query = "SELECT rootpage FROM sqlite_master WHERE name = ?"
        (root,) = database.execute(query, (table,)).fetchone()
        (size,) = database.execute("PRAGMA page_size").fetchone()
    data = bytearray(template)
    rows = data[(root - 1) * size : root * size]
    first = len(data) // size + 1
    data[(root - 1) * size : root * size] = inner_page(first, size)
    for number in range(first, first + 5):
        data += inner_page(number + 1, size)
    data += rows
    data[28:32] = (len(data) // size).to_bytes(4, "big")
    file.write_bytes(data)
    refused(lambda: tune(**ARGUMENTS, study=str(file), resume=True), LONGER[table])


LONGER = {
    "trials": f"more than {MOST_TRIALS:,} trials",
    "trial_user_attributes": "trial_user_attributes has more rows than fit into the file",
}


def test_what_optuna_asks_of_a_study_ends(template: bytes, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "study.db"
    file.write_bytes(template)

    def ask() -> None:
        with (
            journal._explaining("read", str(file)),
            journal._opened(str(file), Steps(len(template))) as storage,
            storage.engine.connect() as connection,
        ):
            connection.exec_driver_sql(f"{ENDLESS} FROM r WHERE n < 0").fetchall()

    refused(ask, r"study\.db: it takes longer than a study of its size; name another file")


def inner_page(child: int, size: int, cells: int = 200) -> bytes:
    """A page of SQLite's trees of rows with `cells` times the same child."""
    page = bytearray(size)
    page[:8] = b"\x05\0\0" + cells.to_bytes(2, "big") + (size - 5 * cells).to_bytes(2, "big") + b"\0"
    page[8:12] = child.to_bytes(4, "big")
    for number in range(cells):
        at = size - 5 * (number + 1)
        page[at : at + 5] = child.to_bytes(4, "big") + bytes([number % 127])
        page[12 + 2 * number : 14 + 2 * number] = at.to_bytes(2, "big")
    return bytes(page)


def test_no_other_name_of_a_file_goes_around_the_checks(template: bytes, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "study.db"
    file.write_bytes(template)
    assert len(tune(**ARGUMENTS, study=f"sqlite:///{file}", resume=True, budget=Budget(trials=3)).trials) == 3
    with pytest.raises(OptctxError, match="give an SQLite file by its path"):
        tune(**ARGUMENTS, study=f"sqlite+pysqlite:///{file}", resume=True)


def test_a_study_is_no_longer_than_one_that_can_go_on() -> None:
    with pytest.raises(OptctxError, match="at most 100,000 trials as a budget, found 100001"):
        Budget(trials=MOST_TRIALS + 1)


TOML = {
    f"x = {DIGITS}": "found one of 900,000 digits in line 2",
    f"x = 0x{'f' * 900_000}": "for x, found",
    f"x = {10**400}": "for x, found 1000",
    "x = [1, {y = 1e400}]": r"for x\[1\]\.y, found 1e400",
    "x = -1e400": "for x, found -1e400",
    f"x = {'[' * 100_000}": "nests too deeply",
    f"x = {'[' * 40}{']' * 40}": r"at most 32 levels, found more for x\[0\]",
    f"x.{'a.' * 300_000}b = 1": "keys of at most 32 parts, found more in line 2",
    f"[{'a . ' * 200_000}b]": "keys of at most 32 parts, found more in line 2",
    "x = " + "{y = " * 100_000: "nests too deeply",
}


def test_toml_that_python_cannot_hold_is_refused_by_its_place(tmp_path: pathlib.Path) -> None:
    read: list[Callable[[pathlib.Path], object]] = [Harness.from_toml, read_case, OptionContext.load]
    works = []
    for number, (text, words) in enumerate(TOML.items()):
        file = tmp_path / f"{number}.toml"
        file.write_text(f"format = 1\n{text}\n")
        for each in read if number == 0 else read[:1]:  # all read a text in the same way
            works.append((functools.partial(each, file), rf"cannot read '.*{number}\.toml': .*{words}"))
    refused_all(works)


def test_toml_has_infinite_numbers_and_64_bits() -> None:
    text = f"a = inf\nb = -inf\nc = nan\nd = {(1 << 64) - 1}\ne = -{1 << 63}\nf = 1_000.5\nf.g = 1"
    found = parse_toml(text.rpartition("\n")[0], "a text")
    assert [found[key] for key in "abdef"] == [float("inf"), -float("inf"), (1 << 64) - 1, -(1 << 63), 1000.5]


def test_shapes_of_absurd_size_are_refused() -> None:
    for shape in ("9223372036854775807", ", ".join(["9223372036854775807"] * 1000)):
        text = f'entry = "f"\n[[arguments]]\narray = "i8"\nshape = [{shape}]'
        with pytest.raises(OptctxError, match="at most 1,073,741,824 bytes, found the shape") as caught:
            Harness.loads(text)
        assert len(str(caught.value)) < 1000


def test_a_case_names_files_beside_it(tmp_path: pathlib.Path) -> None:
    texts = dict.fromkeys(("module", "harness", "passes", "triple", "cpu", "features"), "x")
    works = []
    for key in ("module", "harness"):
        lines = [f'{name} = "{text}"' for name, text in {**texts, key: "/dev/zero"}.items()]
        case = tmp_path / f"{key}.toml"
        case.write_text("\n".join([*lines, "options = []", "base_options = []"]))
        works.append((functools.partial(read_case, case), f"expected '{key}' as .* found '/dev/zero'"))
    refused_all(works)


def test_what_is_no_regular_file_is_not_read(tmp_path: pathlib.Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    paths = tmp_path / "pipe", pathlib.Path("/dev/zero"), tmp_path
    read = Harness.from_toml, read_case
    refused_all([(functools.partial(each, path), "is not a regular file") for path in paths for each in read])


def test_a_census_and_a_target_have_numbers_that_python_holds() -> None:
    works: list[tuple[Callable[[], object], str]] = []
    for number in (*NUMBERS, DEEP):
        words = rf"for %s, {NUMBERS[number]}" if number in NUMBERS else "32 levels"
        option = {**OPTION, "readers": [{"loads": "HERE"}]}
        census = json.dumps({**CENSUS, "options": [option]}).replace('"HERE"', number).encode()
        where = words.replace("%s", r"options\[0\]\.readers\[0\]\.loads")
        works.append((functools.partial(load_census, census, "old.json"), f"cannot use old.json .*{where}"))
        target = f'{{"kind": "llvm", "opt-level": {number}}}'
        works.append((functools.partial(Target, target), words.replace("%s", "opt-level")))
    refused_all(works)


def test_a_census_without_end_is_refused() -> None:
    def read() -> None:
        read_file("/dev/zero", "a census as JSON", MOST_BYTES)

    refused(read, "cannot use /dev/zero: expected a census as JSON of at most 67,108,864 bytes, found more")


def test_a_census_of_many_options_that_has_one_twice_is_refused() -> None:
    names = [*(f"n{number}" for number in range(30_000)), "n29999"]
    options = [{**OPTION, "name": name} for name in names]
    census = json.dumps({**CENSUS, "options": options}).encode()
    refused(lambda: load_census(census, "old.json"), "expected each option once, found 'n29999' twice")
