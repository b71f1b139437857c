"""Records compilations in children of a server that has attached, so that none follows another one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from evidence.calls import called
from evidence.reads.places import first_reads
from evidence.reads.stacks import FirstRead
from optctx.children.pool import Pool
from optctx.compiling import initialise_targets
from optctx.engine.attach import attach
from optctx.errors import OptctxError


class Ended(NamedTuple):
    """How a compilation ended: what it read first, or why that is not known."""

    name: str
    reads: list[FirstRead]
    problem: str = ""


def run_in_children(
    function: Callable[..., list[FirstRead]], given: Iterable[tuple[str, Any]], *, jobs: int, seconds: float
) -> Iterator[Ended]:
    """Call `function(None, each)` in a child for each that is given, `jobs` at once; yield how it ended.

    An OptctxError of a call is its problem; so are the signal and the limit that end a child.
    """
    begin = attach().image.text_begin
    with Pool(attached) as pool:
        tasks = ((name, (function, each)) for name, each in given)
        for name, done in called(pool, tasks, gives=list[FirstRead], at_once=jobs, seconds=seconds):
            if done.death is None:
                yield Ended(name, _moved(done.value or [], begin), done.error)
            elif done.death.how == "timed out":
                yield Ended(name, [], f"it took more than {seconds:g} seconds")
            else:
                yield Ended(name, [], f"the process ended: {done.death}")


def attached() -> None:
    """Prepare a server."""
    initialise_targets()
    attach()


def recorded(work: Callable[[], str | None]) -> list[FirstRead]:
    """In a child: what `work` reads first, in a library that begins at 0. Raises OptctxError if it fails."""
    problems: list[str | None] = []
    found = first_reads(lambda: problems.append(work()))
    if problem := problems[0]:
        raise OptctxError(problem)
    return _moved(found, -attach().image.text_begin)


def _moved(reads: list[FirstRead], by: int) -> list[FirstRead]:
    return [read._replace(addresses=tuple(address + by for address in read.addresses)) for read in reads]
