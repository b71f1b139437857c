"""Objects of llvmlite's that are made under some options and used under others, on LLVM's own tests.

    python -m evidence.conformance.crossed [FOLDER...] [--limit N] [--per-option N] [--places N]

Each use happens in a child of its own: the object is made under the options of another test, and used under
those of the test, in every place that options can come from. It has to give what it gives in a process that
was started with the options of the test. Exit status: 0; 1 if an output differs or a child died; 2 if there
is no source.
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import os
import random
import re
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, nullcontext
from functools import partial
from itertools import pairwise
from typing import Any, Final, NamedTuple

import capstone
from llvmlite import binding

from evidence.conformance.choice import add_choice, choose, new_parser, read_tests, work_apart
from evidence.conformance.fresh import run_fresh
from evidence.conformance.job import Job, Outcome, digest, initialise, make_machine, source
from optctx import ContextMismatchError, OptionContext, contained, run_passes
from optctx.children.messages import bodies, decode, encode, write_all
from optctx.children.pool import Pool
from optctx.engine.attach import attach
from optctx.errors import OptctxError
from optctx.process import set_process_options

_NATIVE = re.compile(r"x86_64|$")
_PASSES = 8  # that a manager filled by hand gets
_NO_PASS = re.compile("print|view|refprune|dump|debug_info|dot_")
_END = "\ndefine void @optctx_test_end() { ret void }\n"
_ELSEWHERE = ctypes.addressof(ctypes.create_string_buffer(64))
_ADDRESS = re.compile(r"rip [+-] 0x[0-9a-f]+|0x[0-9a-f]{5,}")


class Object(NamedTuple):
    """A kind of object: how it is made for a target, and how a module is compiled with it."""

    make: Callable[[Job, str], Any]
    use: Callable[[Job, Any, binding.ModuleRef], bytes]
    native_only: bool = False
    added: str = ""  # to the text of the module


def _tuning() -> Any:
    tuning = binding.create_pipeline_tuning_options(3)
    tuning.slp_vectorization = True
    return tuning


def _builder(job: Job, triple: str) -> Any:
    return binding.create_pass_builder(make_machine(job, triple), _tuning())


def _pipeline(kind: str, job: Job, triple: str) -> Any:
    builder = _builder(job, triple)
    return builder, getattr(builder, kind)()


def _filled(manager: Any, job: Job) -> Any:
    names = [name for name in dir(manager) if name.startswith("add_") and not _NO_PASS.search(name)]
    for name in random.Random(job.key()).choices(sorted(names), k=_PASSES):
        getattr(manager, name)()
    return manager


def _run_on_module(_: Job, made: Any, module: binding.ModuleRef) -> bytes:
    builder, manager = made
    manager.run(module, builder)
    return str(module).encode()


def _run_on_functions(_: Job, made: Any, module: binding.ModuleRef) -> bytes:
    builder, manager = made
    for function in module.functions:
        if not function.is_declaration:
            manager.run(function, builder)
    return str(module).encode()


def _run_builder(job: Job, builder: Any, module: binding.ModuleRef) -> bytes:
    return _run_on_module(job, (builder, builder.getModulePassManager()), module)


def _run_new_builder(job: Job, machine: Any, module: binding.ModuleRef) -> bytes:
    return _run_builder(job, binding.create_pass_builder(machine, _tuning()), module)


def _run_tuned_builder(job: Job, made: Any, module: binding.ModuleRef) -> bytes:
    return _run_builder(job, binding.create_pass_builder(*made), module)


def _run_tuned(_: Job, tuning: Any, module: binding.ModuleRef) -> bytes:
    run_passes(module, "default<O3>", tuning=tuning)
    return str(module).encode()


def _emit(job: Job, machine: Any, module: binding.ModuleRef) -> bytes:
    module.data_layout = str(machine.target_data)
    return bytes(machine.emit_object(module)) if job.as_object else machine.emit_assembly(module).encode()


def _engine(machine: Any) -> Any:
    return binding.create_mcjit_compiler(binding.parse_assembly(""), machine)


def _run_mcjit(_: Job, engine: Any, module: binding.ModuleRef) -> bytes:
    objects: list[bytes] = []
    engine.set_object_cache(lambda _, data: objects.append(data), lambda _: None)
    engine.add_module(module)
    engine.finalize_object()
    return b"".join(objects)


def _jit(machine: Any) -> Any:
    return binding.create_lljit_compiler(machine, suppress_errors=True)


def _run_lljit(_: Job, jit: Any, module: binding.ModuleRef) -> bytes:
    """The instructions of each function, without addresses."""
    names = [
        each.name for each in module.functions if not each.is_declaration and each.linkage.name == "external"
    ]
    builder = binding.JITLibraryBuilder().add_ir(module).add_current_process()
    for each in [*module.functions, *module.global_variables]:
        if each.is_declaration and not each.name.startswith("llvm."):
            builder.import_symbol(each.name, _ELSEWHERE)  # never called
    for name in names:
        builder.export_symbol(name)
    try:
        library = builder.link(jit, "library")
    except RuntimeError as error:
        raise OptctxError(f"cannot link: {error}") from None
    starts = sorted({library[name] for name in names})
    decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    lines = []
    for begin, after in pairwise(starts):
        if after - begin > 1 << 20:
            raise OptctxError("the functions lie apart")
        code = ctypes.string_at(begin, after - begin)
        lines += [_ADDRESS.sub("_", f"{each[2]} {each[3]}") for each in decoder.disasm_lite(code, begin)]
    library.close()
    return "\n".join(lines).encode()


OBJECTS: Final = {
    "getModulePassManager": Object(partial(_pipeline, "getModulePassManager"), _run_on_module),
    "getFunctionPassManager": Object(partial(_pipeline, "getFunctionPassManager"), _run_on_functions),
    "module manager": Object(
        lambda job, triple: (_builder(job, triple), _filled(binding.create_new_module_pass_manager(), job)),
        _run_on_module,
    ),
    "function manager": Object(
        lambda job, triple: (_builder(job, triple), _filled(binding.create_new_function_pass_manager(), job)),
        _run_on_functions,
    ),
    "pass builder": Object(_builder, _run_builder),
    "run_passes": Object(lambda _, __: _tuning(), _run_tuned),
    "target machine": Object(make_machine, _emit),
    "MCJIT": Object(lambda job, triple: _engine(make_machine(job, triple)), _run_mcjit, native_only=True),
    # Made under the other options: only what the object is made of.
    "a manager's machine": Object(make_machine, _run_new_builder),
    "a manager's tuning": Object(
        lambda job, triple: (make_machine(job, triple), _tuning()), _run_tuned_builder
    ),
    "MCJIT's machine": Object(
        make_machine, lambda job, machine, module: _run_mcjit(job, _engine(machine), module), native_only=True
    ),
    "LLJIT's machine": Object(
        make_machine, lambda job, machine, module: _run_lljit(job, _jit(machine), module), True, _END
    ),
    "LLJIT": Object(lambda job, triple: _jit(make_machine(job, triple)), _run_lljit, True, _END),
}


class Where(NamedTuple):
    """What a place works with. `made_in` and `used_in`: contexts of the other and of the test's options."""

    make: Callable[[], Any]
    use: Callable[..., Outcome]
    made_in: Any
    used_in: Any
    options: tuple[str, ...]


def _in_turn(make_inside: bool, use_inside: bool, nested: bool = False) -> Callable[[Where], Outcome]:
    """Made inside the other options or outside, used inside the test's or outside, within those if nested."""

    def place(at: Where) -> Outcome:
        with ExitStack() as other:
            if make_inside:
                other.enter_context(at.made_in)
            made = at.make()
            if not nested:
                other.close()
            with at.used_in if use_inside else nullcontext():
                return at.use(made)

    return place


def _thread(at: Where) -> Outcome:
    found: list[Outcome] = []
    with at.made_in:
        made = at.make()

        def work() -> None:
            with at.used_in:
                found.append(at.use(made))

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    return found[0] if found else Outcome("died", text="the thread raised")


def _fork(at: Where) -> Outcome:
    with at.made_in:
        made = at.make()
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            with at.used_in:
                write_all(writing, encode(at.use(made)))
        finally:
            os._exit(0)
    os.close(writing)
    outcome = next(
        (decode(body, Outcome) for body in bodies(reading)), Outcome("died", text="the forked child")
    )
    os.close(reading)
    os.waitpid(pid, 0)
    return outcome


def _task(at: Where) -> Outcome:
    async def make() -> Any:
        with at.made_in:
            return at.make()

    async def use(made: Any) -> Outcome:
        with at.used_in:
            return at.use(made)

    async def both() -> Outcome:
        made = await asyncio.create_task(make())
        return await asyncio.create_task(use(made))

    return asyncio.run(both())


def _bound(at: Where) -> Outcome:
    return at.use(at.make(), prepare=at.used_in.bind)


def _bound_in_scope(at: Where) -> Outcome:
    with at.made_in:
        return _bound(at)


def _contained(at: Where) -> Outcome:
    with at.made_in:
        made = at.make()
    with contained():
        for option in at.options:
            binding.set_option("", option)
        return at.use(made)


PLACES: Final[dict[str, Callable[[Where], Outcome]]] = {
    "scope, outside": _in_turn(True, False),
    "outside, scope": _in_turn(False, True),
    "scope, scope": _in_turn(True, True),
    "scope, nested scope": _in_turn(True, True, nested=True),
    "scope, another thread": _thread,
    "scope, forked child": _fork,
    "task, task": _task,
    "outside, bound LLVMContext": _bound,
    "scope, bound LLVMContext": _bound_in_scope,
    "scope, contained": _contained,
}


def _triple(job: Job, kind: Object) -> str:
    if kind.native_only:
        return binding.get_process_triple()
    if job.triple:
        return job.triple
    found = re.search(r'^target triple = "([^"]+)"', source(job.path), re.M)
    return found[1] if found else binding.get_process_triple()


def _use(
    job: Job, kind: Object, triple: str, made: Any, prepare: Callable[[Any], object] | None = None
) -> Outcome:
    context = binding.create_context()
    if prepare is not None:
        prepare(context)
    try:
        module = binding.parse_assembly(source(job.path) + kind.added, context)
        module.triple = triple
        if job.layout:
            module.data_layout = job.layout
        return Outcome("output", digest(kind.use(job, made, module)))
    except ContextMismatchError as error:
        return Outcome("refused", text=str(error))
    except (OptctxError, RuntimeError) as error:
        return Outcome("error", text=str(error))


def expected(_: None, job: Job, name: str, given: bool, memory: int) -> Outcome:
    """In a child of a process that has not attached: with the options of the job if they are `given`.

    `memory`: how the child's is filled before.
    """
    rng = random.Random(memory)
    kept = [bytearray(rng.randrange(16, 3000)) for _ in range(memory * 50)]  # noqa: F841
    kind = OBJECTS[name]
    if given:
        set_process_options(job.options)
    triple = _triple(job, kind)
    try:
        made = kind.make(job, triple)
    except OptctxError as error:
        return Outcome("error", text=str(error))
    return _use(job, kind, triple, made)


def attached() -> None:
    """Prepare a server: nothing is inside a context there."""
    initialise()
    attach()


def crossed(_: None, job: Job, name: str, place: str, other: Job) -> Outcome:
    """In a child of a process that has attached."""
    kind = OBJECTS[name]
    triple = _triple(job, kind)
    try:
        made_in = OptionContext.from_args(list(other.options), base="defaults")
        used_in = OptionContext.from_args(list(job.options), base="defaults")
    except OptctxError as error:
        return Outcome("unscopable", text=str(error))
    return PLACES[place](
        Where(
            partial(kind.make, job, triple), partial(_use, job, kind, triple), made_in, used_in, job.options
        )
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program."""
    options = make_parser().parse_args(arguments)
    jobs, _, _ = read_tests(options)
    jobs = [job for job in choose(jobs, options) if job.options and not job.solitary]
    work_apart(options)
    known = _references(jobs, options)
    rows = list(_rows(known, options))
    with Pool(attached) as pool:
        tasks = ((at, (crossed, *row)) for at, row in enumerate(rows))
        found = dict(run_fresh(tasks, options.timeout, pool))
    return _report(rows, known, found)


# For a test and the name of an object: what it gives without options, and with those of the test.
Known = dict[tuple[Job, str], tuple[Outcome, Outcome]]


class _Row(NamedTuple):
    job: Job
    name: str
    place: str
    other: Job


# So many arrangements of LLVM's memory: an output that depends on addresses proves nothing.
_MEMORIES = 5


def _references(jobs: Sequence[Job], options: argparse.Namespace) -> Known:
    """Of the uses whose output the options of the test change."""
    pairs = [
        (job, name)
        for job in jobs
        for name in OBJECTS
        if not OBJECTS[name].native_only or _NATIVE.match(job.triple)
    ]
    tasks = (
        ((*pair, given, memory), (expected, *pair, given, memory))
        for pair in pairs
        for given in (False, True)
        for memory in range(_MEMORIES)
    )
    found = dict(run_fresh(tasks, options.timeout))
    known = {}
    for pair in pairs:
        without, given = (
            {found[(*pair, one, memory)] for memory in range(_MEMORIES)} for one in (False, True)
        )
        if {each.kind for each in without | given} != {"output"} or without & given:
            continue
        if len(without) == len(given) == 1:
            known[pair] = without.pop(), given.pop()
        else:
            print(f"unstable in stock LLVM, left out: {pair[1]}; {pair[0].where} {' '.join(pair[0].options)}")
    return known


def _rows(known: Known, options: argparse.Namespace) -> Iterator[_Row]:
    """The other options are those of a test that they matter for as well."""
    rng = random.Random(options.seed)
    places = sorted(PLACES)
    for job, name in known:
        others = [other for other, its in known if its == name]
        for place in rng.sample(places, k=min(options.places, len(places))):
            yield _Row(job, name, place, job if place == "scope, outside" else rng.choice(others))


def _report(rows: Sequence[_Row], known: Known, found: dict[int, Outcome]) -> int:
    table: dict[str, Counter[str]] = {"all": Counter()}
    evidence = []
    for at, row in enumerate(rows):
        right = known[row.job, row.name][row.place != "scope, outside"]
        outcome = found[at]
        what = outcome.kind if outcome.kind != "output" else "right" if outcome == right else "wrong"
        for key in (row.name, row.place, "all"):
            table.setdefault(key, Counter()).update([what])
        if what not in ("right", "unscopable"):
            evidence.append(
                f"{what}: {row.name}; {row.place}; {row.job.where} {' '.join(row.job.options)}; "
                f"other {' '.join(row.other.options)}; {outcome.text[:200]}"
            )
    columns = ["right", "wrong", "refused", "error", "died", "late", "unscopable"]
    print(f"{'':30}" + "".join(f"{each:>11}" for each in ["uses", *columns]))
    for key in sorted(table, key=[*OBJECTS, *PLACES, "all"].index):
        counts = [table[key].total(), *(table[key][each] for each in columns)]
        print(f"{key:30}" + "".join(f"{count:11,}" for count in counts))
    print(*evidence, sep="\n")
    if not rows:
        print("crossed: no test has options that matter for these objects", file=sys.stderr)
    return int(not rows or any(table["all"][each] for each in ("wrong", "error", "died", "late")))


def make_parser() -> argparse.ArgumentParser:
    """Of the command's arguments."""
    parser = new_parser(".crossed", __doc__)
    add_choice(parser, seed="of the choice and of the other tests", seconds=30.0)
    parser.add_argument(
        "--places", type=int, default=len(PLACES), help="so many places for each object of a test"
    )
    return parser


if __name__ == "__main__":
    from evidence.conformance import crossed as own  # whose functions other processes can import

    sys.exit(own.main())
