"""The engine "thread": LLVM's option reads are redirected, and every thread reads storage of its own."""

from __future__ import annotations

from collections import Counter
from typing import Any

from optctx._native import (
    Context,
    OsError,
    Space,
    Trampolines,
    Transaction,
    configure_bindings,
    prepare_recording,
    redirect,
    restore,
    thread_offset,
    trampolines,
)
from optctx.arch import processor
from optctx.engine.engine import CannotRedirectError, Clock, Engine, Users
from optctx.errors import UnsupportedImageError
from optctx.image.facts.interceptions import BINDING, SHARED_MACHINES
from optctx.image.survey import Survey
from optctx.plan.plan import Plan
from optctx.plan.ways_in import prepare_hooks

_SAID_ELSEWHERE = (BINDING, SHARED_MACHINES)  # by `info()`, of each LLVM


class ThreadEngine(Engine):
    """`transaction`: the instructions to redirect, or that are; `hooks`: the functions that optctx
    stands in front of."""

    name = "thread"
    redirects = True
    intercepts = True

    def __init__(self, survey: Survey, plan: Plan, clock: Clock) -> None:
        """Prepare trampolines and views. Changes no code yet.

        Raises CannotRedirectError, CannotDecodeError, and UnsupportedImageError if the library does not check
        out.
        """
        super().__init__(survey, plan)
        self.processor = processor()
        try:
            self._prepare_code(clock)
        except OsError as error:
            raise CannotRedirectError(str(error)) from error
        except RuntimeError as error:
            raise UnsupportedImageError(f"{self.image.path}: {error}; nothing was changed") from error
        self._prepare_views()
        clock.lap("views")

    def _prepare_code(self, clock: Clock) -> None:
        """Make the code that runs instead of LLVM's instructions, and in front of its functions."""
        image, index = self.image, self.index
        hooks = self.hooks = prepare_hooks(self.survey, index)
        self.follows_lljit = hooks.begins_llvm_contexts
        self.shares_machines = SHARED_MACHINES not in hooks.unavailable
        self.not_intercepted = hooks.unavailable.get(BINDING, "")
        self.intercepts = not self.not_intercepted
        self.plan.unavailable.update(
            (feature, why) for feature, why in hooks.unavailable.items() if feature not in _SAID_ELSEWHERE
        )
        clock.lap("entrances")
        sites = _trampolines(self.plan, index)
        self.transaction = Transaction([*hooks.calls, *hooks.starts], image.text_begin, image.text_end, sites)
        clock.lap("trampolines")

    def _prepare_views(self) -> None:
        """Make the storage that every thread reads."""
        slots = [self.plan.slots[part.address] for part in self.survey.reporting]
        self.space = Space.redirected(
            self.index,
            self.plan.regions,
            self.plan.set_default,
            self.survey.functions.add_occurrence,
            (slots[0], slots[1], slots[2]),
            self.survey.stream_table,
            self.plan.readers.packed,
        )
        _scope_printing(self.space, self.plan)
        if self.intercepts:
            configure_bindings(self.index, self.survey.functions.work_calls)

    def attach(self) -> None:
        try:
            redirect(self.index, self.transaction, self.hooks.tables, self.setters)
        except OsError as error:
            raise CannotRedirectError(str(error)) from error
        except RuntimeError as error:
            raise UnsupportedImageError(
                f"could not redirect LLVM's option reads, nothing was changed: {error}; "
                "OPTCTX_ENGINE=exclusive works without"
            ) from error

    def detach(self) -> Users:
        return Users(*restore(self.index, self.transaction, self.hooks.tables, self.setters))

    def prepare_recording(self) -> None:
        """Let recordings that begin from now on detect LLVM's reads. A second call does nothing."""
        sites = self.plan.references.sites
        assert sites is not None  # a redirected plan
        of_sites = self.plan.readers.by_site.tobytes()
        prepare_recording(self.space, self.transaction, self.image.base, sites.packed, of_sites)

    def covering(self) -> Context | None:
        return None

    def report(self) -> dict[str, Any]:
        code = self.plan.references
        sites = list(code.sites or ())
        tactics = Counter(self.processor.tactic_name(site.tactic) for site in sites)
        return {
            "decoder": self.processor.decoder_package,
            "sites": {
                "redirected": len(sites),
                "by_tactic": dict(tactics),
                "stores": sum(site.writes for site in sites),
                "addresses_taken": sum(site.takes_address for site in sites),
                "code_pages": self.transaction.pages,
                "trampoline_bytes": self.transaction.trampoline_bytes,
            },
            "shared_machines": self.hooks.unavailable.get(SHARED_MACHINES, "yes"),
            "sites_refused": dict(Counter(refusal.reason for refusal in code.refusals)),
        }


def _scope_printing(space: Space, plan: Plan) -> None:
    """Limit debug output to the threads that are inside a context with `debug`."""
    printing = plan.printing
    if printing is not None:
        space.scope_debugging(
            printing.flag,
            printing.option.address + printing.option.value_offset,
            printing.types.address,
            printing.types.type_size,
            printing.debug_only.address,
            plan.slots[printing.flag],
            plan.slots[printing.types.address],
        )


def _trampolines(plan: Plan, index: int) -> Trampolines:
    """Build the trampolines of all sites of the image with this index."""
    sites = plan.references.sites
    assert sites is not None  # a redirected plan
    words, loads = plan.words()
    return trampolines(sites.image, sites.packed, words.tobytes(), loads, thread_offset(index))
