"""A trial's rows in Optuna's tables of an SQLite file, written in one transaction.

Optuna asks the database before each parameter, which takes longer than compiling a small module.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from optuna.storages import RDBStorage
    from optuna.trial import FrozenTrial
    from sqlalchemy import Connection

__all__ = ["Rows"]

_SCHEMA = 12  # Optuna's number for these tables
_TABLES: Mapping[str, tuple[str, ...]] = {
    "version_info": ("version_info_id", "schema_version", "library_version"),
    "trials": ("trial_id", "number", "study_id", "state", "datetime_start", "datetime_complete"),
    "trial_params": ("param_id", "trial_id", "param_name", "param_value", "distribution_json"),
    "trial_values": ("trial_value_id", "trial_id", "objective", "value", "value_type"),
    "trial_user_attributes": ("trial_user_attribute_id", "trial_id", "key", "value_json"),
}


class Rows:
    """Writes trials that have ended, as `RDBStorage.create_new_trial` does."""

    def __init__(self, storage: RDBStorage, study: int) -> None:
        self._engine = storage.engine
        self._study = study
        self._known = self._engine.dialect.name == "sqlite" and self._has_tables()

    def takes(self, trial: FrozenTrial) -> bool:
        """Whether the tables are known here, and the trial has nothing that needs others."""
        more = trial.system_attrs or trial.intermediate_values
        return self._known and not more and all(map(math.isfinite, trial.values or ()))

    def add(self, trial: FrozenTrial) -> None:
        """Write a trial that these rows take, or nothing of it. Raises what SQLAlchemy and SQLite raise."""
        from optuna.distributions import distribution_to_json

        ends = (trial.datetime_start, trial.datetime_complete)
        times = [None if each is None else each.isoformat(" ", "microseconds") for each in ends]
        params = [
            (name, each.to_internal_repr(trial.params[name]), distribution_to_json(each))
            for name, each in trial.distributions.items()
        ]
        with self._engine.begin() as connection:
            place = connection.exec_driver_sql(
                "INSERT INTO trials (number, study_id, state, datetime_start, datetime_complete) "
                "SELECT count(*), ?, ?, ?, ? FROM trials WHERE study_id = ?",
                (self._study, trial.state.name, *times, self._study),
            ).lastrowid
            for text, rows in (
                (
                    "trial_values (trial_id, objective, value, value_type) VALUES (?, ?, ?, 'FINITE')",
                    [(place, *each) for each in enumerate(trial.values or ())],
                ),
                (
                    "trial_params (trial_id, param_name, param_value, distribution_json) VALUES (?, ?, ?, ?)",
                    [(place, *each) for each in params],
                ),
                (
                    "trial_user_attributes (trial_id, key, value_json) VALUES (?, ?, ?)",
                    [(place, key, json.dumps(value)) for key, value in trial.user_attrs.items()],
                ),
            ):
                _insert(connection, text, rows)

    def _has_tables(self) -> bool:
        with self._engine.connect() as connection:
            if not all(_has_columns(connection, *each) for each in _TABLES.items()):
                return False
            version = connection.exec_driver_sql("SELECT schema_version FROM version_info").scalar()
            return bool(version == _SCHEMA)


def _insert(connection: Connection, text: str, rows: list[tuple[Any, ...]]) -> None:
    if rows:
        connection.exec_driver_sql(f"INSERT INTO {text}", rows)


def _has_columns(connection: Connection, table: str, columns: tuple[str, ...]) -> bool:
    found = connection.exec_driver_sql(f"PRAGMA table_info({table})").fetchall()
    return tuple(row[1] for row in found) == columns
