"""Runs a program on real threads, all of them at once, and compares what they see with the model."""

from __future__ import annotations

import contextvars
import faulthandler
import os
import pickle
import queue
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn, TypeAlias, TypeVar

from llvmlite import binding

from optctx import (
    OptionContext,
    OutsideScopeError,
    ScopeError,
    attach,
    bound,
    current,
    detach,
    emit_assembly,
    registry,
    run_passes,
    unbind,
    wrap,
)
from optctx._native import active_scopes  # `info()` gives it, too, in the time of five compilations
from optctx.compiling import Result, compile_job
from tests.promises.answers import JOB, WRITER, Answers, by_llvmlite
from tests.promises.model import CHOICES, Key, Model, Sight, Wanted
from tests.promises.program import Context, Program, Step
from tests.support import processes
from tests.support.forking import fork
from tests.support.ir_texts import X86
from tests.support.native_interface import NativeScope
from tests.support.runs import machine as new_machine
from tests.support.scopes import in_threads

SECONDS = int(processes.SECONDS / 10)  # far more than any step takes
_LIVES, _GOOD = b"\0", b"\1"  # what a child says
Work: TypeAlias = Sequence[tuple[Step, Wanted]]
_Alive: TypeAlias = Callable[[], None]
_Code = TypeVar("_Code", Result, str)


class WrongError(Exception):
    """A thread sees something else than the model says."""


# By name, what a caller has a thread do in a scope of its own: it must see the first sight in there, and the
# second one afterwards.
Inside = Mapping[str, "Callable[[Run, Step, Sight, Sight], object]"]


def expect(found: object, wanted: object, what: str) -> None:
    if found != wanted:
        raise WrongError(f"{what}: found {found!r}, expected {wanted!r}")


def expect_code(
    compiles: Callable[[], _Code], answers: dict[Key, _Code], wanted: Key | None, what: str
) -> None:
    """Compile: LLVM gives what it gives under this key, or the compilation is refused."""
    try:
        found = compiles()
    except OutsideScopeError:
        expect("refused", "refused" if wanted is None else wanted, what)
        return
    if wanted is None or found != answers[wanted]:
        keys = [key for key, answer in answers.items() if answer == found]
        raise WrongError(f"{what} is as under {keys or found}, expected {wanted or 'to be refused'}")


def by_optctx() -> Result:
    """The job compiled; raises OutsideScopeError where that is the result."""
    result = compile_job(JOB)
    if 'outside="error" forbids' in (result.error or ""):
        raise OutsideScopeError(result.error)
    return result


def verdict(program: Program, threads: int, answers: Answers, inside: Inside) -> str:
    """What is wrong with a run in a forked child; "" if nothing is."""
    return _in_child(partial(_run, program, threads, answers, inside), SECONDS)


def _run(program: Program, threads: int, answers: Answers, inside: Inside, alive: _Alive) -> None:
    sys.setswitchinterval(1e-5)
    Run(program, threads, answers, inside).all_rounds(alive)


def _in_child(work: Callable[[_Alive], object], seconds: int) -> str:
    """Why the work failed in a forked child; "" if it did not. It ends once it stands still for so long.

    The work calls what it is given whenever it gets on.
    """
    reading, writing = os.pipe()
    if not (pid := fork()):
        _child(work, writing, seconds)
    os.close(writing)
    told = b""
    while heard := bool(select.select([reading], [], [], seconds + 1)[0]):
        if not (more := os.read(reading, 1 << 16)):
            break
        told += more
    os.close(reading)
    if not heard:  # it hangs where not even its own limit counts
        os.kill(pid, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if told.endswith(_GOOD):
        return ""
    words = told.lstrip(_LIVES).decode()
    return words if words and status == 0 else f"a process ended with {status}: {words}"


def _fork_and(work: Callable[[_Alive], object]) -> None:
    """Have a child of fork do the work."""
    if words := _in_child(work, SECONDS // 2):
        raise WrongError(f"in a child of fork: {words}")


def _child(work: Callable[[_Alive], object], writing: int, seconds: int) -> NoReturn:
    def alive() -> None:
        # Anew each time: work that handles the signal itself leaves it without this handler.
        faulthandler.unregister(signal.SIGALRM)
        faulthandler.register(signal.SIGALRM, writing, chain=True)  # says where every thread is, and ends
        signal.alarm(seconds)
        os.write(writing, _LIVES)

    try:
        faulthandler.enable(writing)
        alive()
        work(alive)
        os.write(writing, _GOOD)
    except WrongError as error:
        os.write(writing, str(error).encode())
    except BaseException:
        os.write(writing, traceback.format_exc().encode())
    finally:
        os._exit(0)


class _Worker:
    """A thread of a program, and those that take its place when it ends inside its scopes."""

    def __init__(self, run: Run, number: int) -> None:
        self._run = run
        self.number = number
        self.stack: list[OptionContext | NativeScope] = []
        self._work: queue.SimpleQueue[Work] = queue.SimpleQueue()
        self.begin()

    def begin(self) -> None:
        self.stack = []
        self.thread = threading.Thread(target=contextvars.Context().run, args=(self._serve,), daemon=True)
        self.thread.start()

    def give(self, work: Work) -> None:
        self._work.put(work)

    def _serve(self) -> None:
        while True:
            left = list(self._work.get())
            try:
                while left:
                    step, wanted = left.pop(0)
                    if step.action == "die":
                        self._run.done.put(("ended", self, left))  # for the next thread
                        return
                    self._take(step, wanted)
                    self._run.done.put(("went on", self, None))
            except BaseException as error:  # told where the round is waited for
                why = str(error) if isinstance(error, WrongError) else traceback.format_exc()
                words = f"thread {self.number}, {step.action}: {why}"
                self._run.done.put(("failed", self, words))
                return
            self._run.done.put(("done", self, None))

    def _take(self, step: Step, wanted: Wanted) -> None:
        method = getattr(self, f"_{step.action.replace(' ', '_')}")
        try:
            method(step, *wanted.sights)
        except ScopeError:
            if not wanted.refused:
                raise
        else:
            expect(False, wanted.refused, "refused")

    # Scopes

    def _push(self, context: OptionContext | NativeScope) -> None:
        expect(context.__enter__() is context, True, "what entering returns is the context")
        self.stack.append(context)

    def _enter(self, step: Step) -> None:
        self._push(self._run.contexts[step.context])

    def _nest(self, step: Step) -> None:
        if step.way == "C++":
            attach()  # which C++ code cannot do, after `detach`
            self._push(NativeScope(dict(step.options)))
        else:
            self._push(OptionContext(dict(step.options)))

    def _leave(self, step: Step) -> None:
        self.stack.pop().__exit__(None, None, None)

    def _detach(self, step: Step) -> None:
        detach()

    def _set(self, step: Step) -> None:
        for name, text in step.options:
            binding.set_option("", f"-{name}={text}")

    _drift = _set

    def _write(self, step: Step) -> None:
        expect(compile_job(WRITER).error, None, "an error for the target that writes")

    # Looks

    def _look(self, step: Step, wanted: Sight) -> None:
        self._run.look(wanted)

    def _look_by_llvmlite(self, step: Step, wanted: Sight) -> None:
        expect_code(by_llvmlite, self._run.answers.llvmlite, wanted.llvm, "llvmlite's code")

    def _carry(self, step: Step, wanted: Sight) -> None:
        def look() -> None:
            self._run.look(wanted)
            if step.other > 0:
                _fork_and(lambda alive: self._run.look(wanted))

        carried = wrap(look) if step.way == "wrap" else partial(contextvars.copy_context().run, look)
        in_threads([carried])

    def _bind(self, step: Step, wanted: Sight, here: Sight) -> None:
        with binding.create_context() as own:
            context = self._run.contexts[step.context]
            context.bind(own)
            expect(bound(own), context, "what is bound")
            with new_machine() as machine:
                self._run.compile(own, machine, wanted.llvm)
            self._run.look(here)
            unbind(own)
            expect(bound(own), None, "what is bound after unbinding")
            with new_machine() as machine:
                self._run.compile(own, machine, here.llvm)

    def _inside(self, step: Step, inner: Sight, here: Sight) -> None:
        self._run.inside[step.way](self._run, step, inner, here)

    def _fork(self, step: Step, *wanted: Sight) -> None:
        _fork_and(partial(self._in_fork, step, wanted))

    def _in_fork(self, step: Step, wanted: Sequence[Sight], alive: _Alive) -> None:
        here, outside_, first, second = wanted
        expect(active_scopes(), here.depth, "scopes that the child is inside of")
        self._run.look(here)
        while self.stack:
            self._leave(step)
        self._run.look(outside_)
        for index, sight in ((step.context, first), (step.other, second)):
            alive()
            with self._run.contexts[index]:
                self._run.look(sight)
        self._run.look(outside_)


class Run:
    """A program under way: its threads, and the model that says what they must see."""

    def __init__(self, program: Program, threads: int, answers: Answers, inside: Inside) -> None:
        self.answers = answers
        self.inside = inside
        self._program = program
        self._model = Model(program, threads)
        self._reports: list[str] = []
        sys.unraisablehook = lambda problem: self._reports.append(str(problem.exc_value))
        options = registry()
        self._defaults = {name: options[name].default for name in CHOICES}
        for name, text in program.drift:
            binding.set_option("", f"-{name}={text}")
        attach(outside=program.outside)
        self.contexts: list[OptionContext] = []
        for context in program.contexts:
            self.contexts.append(self._made(context))
        self.done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._workers = [_Worker(self, number) for number in range(threads)]

    def _made(self, context: Context) -> OptionContext:
        base: Any = self.contexts[context.base] if isinstance(context.base, int) else context.base
        options = dict(context.options)
        first = dict(list(options.items())[:1]) if context.way == "derived" else options
        made = OptionContext(first, base=base)
        if context.way == "derived":
            made = made.derive(options)
        elif context.way == "pickled":
            made = pickle.loads(pickle.dumps(made))
        return made

    def all_rounds(self, alive: _Alive) -> None:
        self._check()
        for number, steps in enumerate(self._program.rounds):
            try:
                self._round(steps, alive)
                self._check()
            except WrongError as error:
                raise WrongError(f"round {number}: {error}") from None

    def _round(self, steps: Sequence[Sequence[Step]], alive: _Alive) -> None:
        works = [[(step, self._model.take(thread, step)) for step in own] for thread, own in enumerate(steps)]
        busy = [worker for worker, work in zip(self._workers, works, strict=True) if work]
        for worker in busy:
            worker.give(works[worker.number])
            alive()
        while busy:
            event, worker, of_it = self.done.get()  # the child ends if nothing comes
            alive()
            if event == "failed":
                raise WrongError(of_it)
            if event == "ended":
                worker.thread.join()
                while os.path.exists(f"/proc/self/task/{worker.thread.native_id}"):
                    time.sleep(0.001)  # it leaves its scopes after it was joined
                worker.begin()
                worker.give(of_it)
            elif event == "done":
                busy.remove(worker)

    def _check(self) -> None:
        """What holds between rounds, for all threads."""
        expect(active_scopes(), self._model.inside(), "scopes that threads are inside of")
        reports = [each for each in self._reports if each.startswith("optctx: ")]
        expect(reports, [], "what is reported because it cannot be raised")
        options = registry()
        for name in CHOICES:
            expect(options[name].value, self._value(name, self._model.process), f"the process's {name}")
        self.look(self._model.beside())

    def _value(self, name: str, given: Mapping[str, str]) -> object:
        if name not in given:
            return self._defaults[name]
        return CHOICES[name][given[name]]

    def look(self, wanted: Sight) -> None:
        """Ask LLVM, and optctx."""
        expect_code(by_optctx, self.answers.optctx, wanted.llvm, "LLVM's code")
        seen, given = current(), dict(wanted.current)
        for name in CHOICES:
            expect(seen[name], self._value(name, given), f"current()[{name!r}]")

    def compile(self, own: Any, machine: Any, wanted: Key | None, ir: str | bytes = JOB.ir) -> None:
        """Compile the job's module, or another one, in an LLVMContext and with a machine that are given."""
        with binding.parse_assembly(ir, own) as module:
            module.triple, module.data_layout = X86, str(machine.target_data)

            def compiles() -> str:
                run_passes(module, JOB.passes, target_machine=machine)
                return emit_assembly(module, machine)

            codes = {key: result.code.decode() for key, result in self.answers.optctx.items()}
            expect_code(compiles, codes, wanted, "a module's code")
