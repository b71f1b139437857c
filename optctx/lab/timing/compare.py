"""A module under different options: compiled in fresh processes, checked, timed, and gains confirmed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from optctx.compiling import FreshProcess, Job, Result
from optctx.compiling.facts import arguments
from optctx.errors import Interrupted, OptctxError
from optctx.lab.outcome import Limits
from optctx.lab.reduce import failure_of
from optctx.lab.tables import Table, time_unit
from optctx.lab.timing.bench import Bench, Interval, Timing, is_gain
from optctx.lab.timing.kernel import Kernel


@dataclass(frozen=True)
class Row:
    """One set of options. `verdict`: what it comes to, in a few words. `timing`: of the measurement beside
    the base; an object that is the base's is not timed again. `second`: of a row that was faster, measured
    once more. `gain`: it is faster than the base, beyond doubt in both.
    """

    options: tuple[str, ...]
    verdict: str
    timing: Timing
    second: Timing | None = None
    gain: bool = False

    @property
    def ratio(self) -> Interval | None:
        """How many times as fast as the base: of the second measurement, if there is one."""
        return (self.second and self.second.ratio) or self.timing.ratio


@dataclass(frozen=True)
class Compared:
    """Sets of options beside their base. `seconds`: of a call of the base. `noise`: the ratio of the base to
    a second copy of itself.
    """

    base_options: tuple[str, ...]
    seconds: Interval
    noise: Interval
    rows: tuple[Row, ...]

    @property
    def gains(self) -> list[Row]:
        """The rows whose gain is confirmed, the fastest first."""
        gains = [row for row in self.rows if row.gain]
        return sorted(gains, key=lambda row: row.ratio.middle if row.ratio else 0.0, reverse=True)

    def table(self) -> Table:
        """The base and the rows, for people."""
        base = "base", str(self.noise), _shown(self.seconds), " ".join(self.base_options) or "no options"
        rows = [
            (row.verdict, str(row.ratio or ""), _shown(row.timing.seconds), " ".join(row.options))
            for row in self.rows
        ]
        right = ["times as fast", "one call"]
        return Table(["", *right, "options"], [base, *rows], right=right)


def compare_settings(
    job: Job,
    kernel: Kernel,
    against: Sequence[str | Sequence[str]],
    *,
    base: Sequence[str] = (),
    limits: Limits = Limits(),  # noqa: B008  frozen
    progress: Callable[[str], object] = lambda words: None,
) -> Compared:
    """Compile a module under a base and under other options, compare what they compute, and time them.

    Arguments:
        job: What to compile and how; its own options are not used.
        against: Sets of options, each as arguments ("-force-vector-width=8 -unroll-count=4", or a list).
            Each comes on top of the base's.
        base: The options of the base.
        kernel: What is called. The seconds of its harness are for the first measurement, and for the second
            one of each that was faster in the first.
        limits: What one compilation may take.
        progress: Is told what is under way.

    Nothing reaches this process or its options. Raises Interrupted, with what was measured so far, after
    Ctrl-C once the first measurement is done; OptctxError if the base cannot be compiled or run, and for
    options that LLVM does not know.
    """
    own = arguments(base, job.image)
    sets = [arguments([*own, *arguments(each, job.image)], job.image) for each in against]
    progress("compiling")
    with FreshProcess(timeout=limits.seconds(), memory=limits.memory) as fresh:
        plain = fresh.compile(replace(job, options=own, emit="object"))
        if plain.error is not None:
            raise OptctxError(f"cannot compile the base: {plain.error}")
        limit = limits.seconds(plain.seconds)
        answers = [fresh.compile(replace(job, options=each, emit="object"), timeout=limit) for each in sets]
    candidates = {
        str(place): answer.code
        for place, answer in enumerate(answers)
        if answer.error is None and answer.code != plain.code
    }
    bench = Bench(plain.code, kernel)
    progress("measuring")
    found = bench.measure(candidates)
    timings = [found.candidates.get(str(place)) or _untimed(each) for place, each in enumerate(answers)]
    rows = [
        Row(options, _verdict(each, found.noise), each) for options, each in zip(sets, timings, strict=True)
    ]
    try:
        for name in found.faster():
            place = int(name)
            progress(f"confirming {' '.join(sets[place])}")
            again = bench.confirm(candidates[name])
            second, gain = again.candidates["candidate"], bool(again.faster())
            verdict = "faster, confirmed" if gain else "faster once, not confirmed"
            rows[place] = replace(rows[place], verdict=verdict, second=second, gain=gain)
    except KeyboardInterrupt:
        raise Interrupted(Compared(own, found.seconds, found.noise, tuple(rows))) from None
    return Compared(own, found.seconds, found.noise, tuple(rows))


def _verdict(timing: Timing, noise: Interval) -> str:
    """What a row comes to before a second measurement."""
    if timing.state != "ok":
        return timing.state
    if timing.ratio is None:
        return "the same code"
    if is_gain(timing.ratio, noise):
        return "faster, not confirmed"
    return "slower" if timing.ratio.high < 1 else "no difference"


def _shown(seconds: Interval | None) -> str:
    """Write the time of one call in a unit that suits it."""
    if seconds is None:
        return ""
    size, unit = time_unit(seconds.middle)
    return f"{seconds.middle / size:.4g} {unit} ({seconds.low / size:.4g} to {seconds.high / size:.4g})"


def _untimed(answer: Result) -> Timing:
    """How it ended instead of an object of its own."""
    failure = failure_of(answer)
    return Timing("ok") if failure is None else Timing(failure.state, failure.words or answer.error or "")
