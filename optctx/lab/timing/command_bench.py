"""Candidates beside a base by the number that a command prints, such as the time of a whole program."""

from __future__ import annotations

import os
import random
import tempfile
from contextlib import ExitStack
from dataclasses import replace

from optctx.errors import OptctxError
from optctx.lab.program import NoNumberError, Programs, number_of, object_words, with_object
from optctx.lab.timing.helper import AGAIN, BASE, Rounded
from optctx.lab.timing.processors import Conditions, conditions, processors
from optctx.lab.timing.results import Outcome
from optctx.lab.timing.rounds import Rounds

__all__ = ["CommandBench"]


class CommandBench(Rounds):
    """Runs a command with the path of each object in place of `{object}`: less is better.

    Entering runs it with the base, and raises OptctxError if that fails or prints no number above 0 last. A
    candidate with which it fails is no error, but has no figures. `timeout`: seconds for one run.
    """

    def __init__(self, command: str, base: bytes, *, timeout: float = 60.0) -> None:
        super().__init__()
        self._words, self._base, self._timeout = object_words(command), base, timeout
        self.processor = -1
        self._stack = ExitStack()
        self._paths: dict[str, str] = {}

    def __enter__(self) -> CommandBench:
        self._outcomes, self._paths = {}, {}
        with self._stack as stack:
            self._folder = stack.enter_context(
                tempfile.TemporaryDirectory(prefix="optctx-", ignore_cleanup_errors=True)
            )
            self._programs = stack.enter_context(Programs())
            outcome = self._examine(BASE, self._base)
            if outcome.state != "ok":
                raise OptctxError(f"the base cannot be measured: {outcome.error}")
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def _conditions(self) -> Conditions:
        return replace(conditions(processors()[0]), processor=self.processor)

    def _examine(self, digest: str, code: bytes) -> Outcome:
        self._paths[digest] = path = os.path.join(self._folder, f"{digest or 'base'}.o")
        with open(path, "wb") as file:
            file.write(code)
        figure = self._figure(digest)
        return figure if isinstance(figure, Outcome) else Outcome("ok")

    def _round(self, names: tuple[str, ...], seed: int) -> Rounded:
        order = [BASE, AGAIN, *names]
        random.Random(seed).shuffle(order)
        found = Rounded({}, {})
        for name in order:
            figure = self._figure(BASE if name == AGAIN else name)
            if isinstance(figure, Outcome):
                found.dead[name] = figure
            else:
                found.samples[name] = [figure]
        return found

    def _figure(self, digest: str) -> float | Outcome:
        try:
            figure = number_of(self._programs, with_object(self._words, self._paths[digest]), self._timeout)
        except NoNumberError as error:
            return Outcome(error.state, str(error))
        if figure > 0:
            return figure
        return Outcome("failed", f"expected a number above 0 from the command, found {figure:g}")
