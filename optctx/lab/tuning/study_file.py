"""A study's SQLite file, which may come from somewhere else, judged before Optuna opens it.

A file brings along what runs when it is read or written: views, triggers, virtual tables, generated columns,
indices of expressions, checks. A view may never end. Here it has tables with plain columns, of a size that a
search can have written, and JSON that Python can read.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
from collections.abc import Iterator
from urllib.parse import quote

from optctx.errors import OptctxError
from optctx.lab.tuning.budget import MOST_TRIALS
from optctx.plain_data import DataError, parse_json

__all__ = ["Steps", "check_study_file"]

_MOST_BYTES = 1 << 30  # of a file
_MOST_TEXT = 1 << 20  # characters of a text in it
_LEAST_ROW = 8  # bytes of a row with JSON, at the very least
_MOST_OBJECTS = 100  # tables and indices; Optuna makes 24
# How SQL says "a table with plain columns" and "an index of columns": without expressions, but for the one
# check that Optuna writes, and constants as defaults.
_TABLE = re.compile(r"CREATE TABLE \"?\w+\"? ?\([\w\s,()\"]*\)")
_INDEX = re.compile(r"CREATE (?:UNIQUE )?INDEX \w+ ON \"?\w+\"? \([\w ,\"]+\)")
_CHECK = re.compile(r"CHECK \(version_info_id ?= ?1\)")
_CONSTANT = re.compile(r"DEFAULT (?:'\w*'|\w+(?![\w(]))")
_EXPRESSION = re.compile(r"\b(?:AS|CHECK|COLLATE|DEFAULT|GENERATED|SELECT|WHERE)\b", re.IGNORECASE)
_JSON = (
    ("study_user_attributes", "value_json"),
    ("study_system_attributes", "value_json"),
    ("trial_user_attributes", "value_json"),
    ("trial_system_attributes", "value_json"),
    ("trial_params", "distribution_json"),
)
_STEP = 100_000  # of SQLite's machine, between two looks


class Steps:
    """What SQLite may do while a study is read: many times what any study of the file's size takes."""

    def __init__(self, size: int) -> None:
        """`size`: bytes of the file."""
        self._left = 50 + size // 1000

    def watch(self, connection: sqlite3.Connection) -> None:
        """Have SQLite end a statement of this connection, as "interrupted", when they are used up."""
        connection.set_progress_handler(self._used, _STEP)

    def end(self) -> None:
        """Watch no longer."""
        self._left = 1 << 62

    def _used(self) -> bool:
        self._left -= 1
        return self._left < 0


def check_study_file(path: str, where: str) -> None:
    """Raise OptctxError for a file that is no study, or too large for one. Changes nothing in it.

    `where`: its name in messages. The file is in SQLite's format, as far as its first bytes say.
    """
    size = os.path.getsize(path)
    if size > _MOST_BYTES:
        raise _refused(where, f"it has {size:,} bytes, of at most {_MOST_BYTES:,}")
    with _opened(path, size) as database:
        tables = _tables(database, where)
        if "trials" in tables:
            query = "SELECT count(*) FROM (SELECT 1 FROM trials NOT INDEXED LIMIT ?)"
            (count,) = database.execute(query, (MOST_TRIALS + 1,)).fetchone()
            if count > MOST_TRIALS:
                raise _refused(where, f"it has more than {MOST_TRIALS:,} trials, which is the limit")
        _check_texts(database, tables, size // _LEAST_ROW, where)


@contextlib.contextmanager
def _opened(path: str, size: int) -> Iterator[sqlite3.Connection]:
    url = f"file:{quote(os.path.abspath(path))}?mode=ro"
    with contextlib.closing(sqlite3.connect(url, uri=True)) as database:
        Steps(size).watch(database)
        database.text_factory = bytes  # not every text is UTF-8
        for pragma in ("trusted_schema=OFF", "cell_size_check=ON"):
            database.execute(f"PRAGMA {pragma}")
        yield database


def _tables(database: sqlite3.Connection, where: str) -> set[str]:
    """The names of all tables. Raises OptctxError for anything else in the schema."""
    query = "SELECT type, name, substr(sql, 1, ?) FROM sqlite_master LIMIT ?"
    rows = database.execute(query, (_MOST_TEXT, _MOST_OBJECTS + 1)).fetchall()
    if len(rows) > _MOST_OBJECTS:
        raise _refused(where, f"it has more than {_MOST_OBJECTS} tables and indices")
    tables = set()
    for row in rows:
        kind, name, sql = (b"" if each is None else bytes(each) for each in row)
        what, called = (each.decode(errors="backslashreplace") for each in (kind, name))
        if not _plain(what, sql.decode(errors="replace")):
            raise _refused(where, f"expected the tables of a study, found the {what} {called[:80]!r}")
        if what == "table":
            tables.add(called)
    return tables


def _plain(kind: str, sql: str) -> bool:
    """Whether an object of the schema runs nothing."""
    if kind == "index":
        return not sql or _INDEX.fullmatch(sql) is not None
    words = _CONSTANT.sub("", _CHECK.sub("", sql))
    return kind == "table" and _TABLE.fullmatch(words) is not None and not _EXPRESSION.search(words)


def _check_texts(database: sqlite3.Connection, tables: set[str], most: int, where: str) -> None:
    for table, column in _JSON:
        if table in tables:
            _check_json(database, table, column, most, where)


def _check_json(database: sqlite3.Connection, table: str, column: str, most: int, where: str) -> None:
    """Raise OptctxError for a text that is no JSON here, or for more than `most` rows."""
    short = f"CASE WHEN length(CAST({column} AS BLOB)) <= ? THEN {column} END"
    query = f"SELECT rowid, {short} FROM {table} NOT INDEXED"
    for count, (row, text) in enumerate(database.execute(query, (_MOST_TEXT,))):
        if count > most:  # its pages form a circle
            raise _refused(where, f"{table} has more rows than fit into the file")
        try:
            if text is None:
                raise DataError(f"expected JSON of at most {_MOST_TEXT:,} bytes, found none or more")
            parse_json(text if isinstance(text, bytes) else str(text))
        except DataError as error:
            raise _refused(where, f"row {row} of {table}, {column}: {error}") from None


def _refused(where: str, why: str) -> OptctxError:
    return OptctxError(f"cannot read the study in {where}: {why}; name another file")
