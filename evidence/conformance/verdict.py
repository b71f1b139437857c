"""From outcomes to verdicts: what became of every job."""

from __future__ import annotations

from dataclasses import dataclass, field

from evidence.conformance.crashes import Blame
from evidence.conformance.job import Job, Outcome
from evidence.conformance.stability import Stability

VERDICTS = ("agreed", "refused", "differing", "unstable", "crashed", "not applicable")


@dataclass
class Verdict:
    """One job: what it gave in a fresh process, inside a context, and what that means."""

    job: Job
    verdict: str
    sensitive: bool  # the options change what comes out
    reference: Outcome
    scoped: Outcome | None = None
    detail: str = ""
    evidence: dict[str, str] = field(default_factory=dict)


def option_names(job: Job) -> list[str]:
    """The options that a job sets, without dashes and values."""
    return sorted({word.lstrip("-").split("=", 1)[0] for word in job.options})


def judge(
    job: Job,
    reference: Outcome,
    bare: Outcome | None,
    scoped: Outcome | None,
    blame: Blame | None,
    alone: Outcome | None,
    stability: Stability | None,
) -> Verdict:
    """`alone`: the outcome of a differing job in a process with no other; `blame`: of a crash."""
    sensitive = bare is not None and bare != reference
    verdict = Verdict(job, "agreed", sensitive, reference, scoped)
    if reference.kind in ("died", "late"):
        verdict.verdict, verdict.detail = "not applicable", f"{reference.kind} in a fresh process"
    elif blame is not None:
        verdict.verdict, verdict.detail = "crashed", f"{blame.cause}: {blame.how}"
    elif scoped is None:
        verdict.verdict, verdict.detail = "crashed", "no outcome"
    elif scoped.kind == "refused":
        verdict.verdict, verdict.detail = "refused", scoped.text
    elif scoped != reference:
        verdict.verdict = "differing"
        _explain(verdict, bare, alone, stability)
    return verdict


def _explain(
    verdict: Verdict, bare: Outcome | None, alone: Outcome | None, stability: Stability | None
) -> None:
    reference, scoped = verdict.reference, verdict.scoped
    assert scoped is not None
    notes = [f"{scoped.kind} instead of {reference.kind}"] if scoped.kind != reference.kind else []
    if scoped == bare:
        notes.append("as with no option set")
    if alone is not None:
        notes.append("agrees alone in a process" if alone == reference else "differs alone in a process too")
    if stability is not None:
        verdict.evidence = stability.runs
        if stability.keeps_state:
            notes.append("stock LLVM, too, keeps state of options set before")
        if not stability.stable:
            verdict.verdict = "unstable"
            same = scoped.words() in stability.runs.values()
            notes.append(
                "stock LLVM gives " + ("this very output as well" if same else "other output as well")
            )
    verdict.detail = "; ".join(notes)
