"""A call of a Numba function as a kernel: its module before LLVM optimises it, its arguments as inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import binding, ir
from numba.core import types
from numba.core.dispatcher import Dispatcher
from numba.np.arrayobj import populate_array

from optctx.compiling import Job
from optctx.errors import OptctxError, shown
from optctx.lab.timing.harness import Array, Harness, Kind, Value
from optctx.numba.unoptimised import unoptimised

_RETURNED_NONE = (types.none, types.void)
_FLOATS: dict[int, Kind] = {32: "f32", 64: "f64"}
# Symbols of Numba's runtime and of Python, which a process that measures does not have.
_RUNTIME = ("NRT_", "numba_", "Py", "_Py")
_NEVER = "NRT_MemInfo_call_dtor"  # frees an array of Numba's own; those of the arguments are none
_STUB = f"define void @{_NEVER}(ptr %info) {{\n  call void @llvm.trap()\n  unreachable\n}}\n"


@dataclass(frozen=True)
class Call:
    """A kernel to tune: `job` is what to compile, `harness` what to call it with."""

    job: Job
    harness: Harness


def call_of(function: Any, *arguments: Any, passes: str = "default<O3>") -> Call:
    """A call of a Numba function, as what `optctx.lab.tuning.tune` and `optctx.lab.timing` take.

    The function is compiled once more for the arguments, with what it calls, up to where LLVM would optimise
    the module. The harness holds a copy of each NumPy array, and compares what a call leaves in it. An
    exception that the function raises ends the process that measures: the trial has crashed.

    Arguments:
        function: From `numba.njit`, or `optctx.numba.njit`; options of its own, and of what it calls, do not
            count.
        arguments: All of them by position: numbers, and arrays of numbers that are contiguous.
        passes: The pipeline of the job.

    Raises OptctxError for what is no such function or argument, for a result that is no number, and for a
    function that needs Numba's runtime (it makes arrays, prints, or runs in parallel); as Numba does for a
    call that cannot be compiled.
    """
    if not isinstance(function, Dispatcher):
        raise OptctxError(f"expected a function of numba.njit, found {shown(function)}")
    kinds = tuple(function.typeof_pyval(argument) for argument in arguments)
    inputs = tuple(
        _input(place, argument, kind)
        for place, (argument, kind) in enumerate(zip(arguments, kinds, strict=True))
    )
    context = function.targetctx
    _check_parallel(function)
    compiled = unoptimised(function, kinds)
    description = compiled.fndesc
    entry = f"{function.py_func.__name__}_call"
    returns = None if description.restype in _RETURNED_NONE else _kind(description.restype, "the result")
    codegen = context.codegen()
    raw = str(compiled.library._final_module)
    module = _with_entry(raw, _wrapper(context, description, entry, arguments))
    return Call(Job(module, passes, opt_level=3, **_machine(codegen)), Harness(entry, inputs, returns))


def _machine(codegen: Any) -> dict[str, Any]:
    """How Numba's code generator has its target machine made, by the fields of a job."""
    options: dict[str, Any] = {}
    codegen._customize_tm_options(options)
    names = {"cpu": "cpu", "features": "features", "reloc": "reloc", "codemodel": "code_model"}
    return {ours: options[theirs] for theirs, ours in names.items()}


def _input(place: int, argument: Any, kind: Any) -> Array | Value:
    where = f"argument {place + 1}"
    if not isinstance(kind, types.Array):
        name = _kind(kind, where)
        return Value(float(argument) if name in _FLOATS.values() else int(argument), name)
    if kind.layout not in "CF":
        raise OptctxError(
            f"cannot call with {where}: it is not contiguous; pass a copy (numpy.ascontiguousarray)"
        )
    name = _kind(kind.dtype, where)
    shape = argument.shape if kind.layout == "C" else argument.shape[::-1]
    return Array(name, tuple(shape) or (1,), contents=argument.tobytes("A"), output=bool(kind.mutable))


def _kind(kind: Any, where: str) -> Kind:
    kind = types.unliteral(kind)
    if isinstance(kind, types.Boolean):
        return "bool"
    if isinstance(kind, types.Integer) and kind.bitwidth in (8, 16, 32, 64):
        return f"{'i' if kind.signed else 'u'}{kind.bitwidth}"  # type: ignore[return-value]
    if isinstance(kind, types.Float) and kind.bitwidth in _FLOATS:
        return _FLOATS[kind.bitwidth]
    raise OptctxError(f"cannot call with {where} of Numba's type {kind}: expected numbers and arrays of them")


def _check_parallel(function: Any) -> None:
    if function.targetoptions.get("parallel"):
        raise OptctxError(
            f"cannot call {function.py_func.__name__}: with parallel=True it needs Numba's threads; leave "
            "that out"
        )


def _wrapper(context: Any, description: Any, entry: str, arguments: Sequence[Any]) -> str:
    """A function that takes pointers and numbers, as a harness passes them, and calls as Numba does."""
    module = context.create_module(f"{entry}_module")
    callee = ir.Function(
        module,
        context.call_conv.get_function_type(description.restype, description.argtypes),
        description.llvm_func_name,
    )
    pointer = ir.IntType(8).as_pointer()
    kinds = description.argtypes
    given = [pointer if isinstance(kind, types.Array) else context.get_value_type(kind) for kind in kinds]
    nothing = description.restype in _RETURNED_NONE
    returned = ir.VoidType() if nothing else context.get_value_type(description.restype)
    wrapper = ir.Function(module, ir.FunctionType(returned, given), entry)
    builder = ir.IRBuilder(wrapper.append_basic_block("entry"))
    passed = [
        _array(context, builder, kind, word, argument) if isinstance(kind, types.Array) else word
        for kind, word, argument in zip(kinds, wrapper.args, arguments, strict=True)
    ]
    status, result = context.call_conv.call_function(builder, callee, description.restype, kinds, passed)
    with builder.if_then(status.is_error, likely=False):
        builder.call(module.declare_intrinsic("llvm.trap", (), ir.FunctionType(ir.VoidType(), ())), ())
        builder.unreachable()
    if nothing:
        builder.ret_void()
    else:
        builder.ret(result)
    return str(module)


def _array(context: Any, builder: Any, kind: Any, data: Any, argument: Any) -> Any:
    """Numba's structure of an array whose memory is at `data`, and nobody's to free."""
    array = context.make_array(kind)(context, builder)
    size = context.get_value_type(types.intp)
    populate_array(
        array,
        data=builder.bitcast(data, array.data.type),
        shape=[ir.Constant(size, extent) for extent in argument.shape],
        strides=[ir.Constant(size, stride) for stride in argument.strides],
        itemsize=ir.Constant(size, argument.itemsize),
        meminfo=None,
    )
    return array._getvalue()


def _with_entry(raw: str, wrapper: str) -> str:
    """One module of which only the entry can be seen from outside. Raises OptctxError for what it lacks."""
    context = binding.create_context()  # ends with its modules: closed first, it would delete them
    with binding.parse_assembly(raw, context) as module:

        def link(text: str) -> str:
            added = binding.parse_assembly(text, context)
            added.data_layout, added.triple = module.data_layout, module.triple
            names = [each.name for each in added.functions if not each.is_declaration]
            module.link_in(added)
            return str(names[0])

        entry = link(wrapper)
        declared = {each.name for each in module.functions if each.is_declaration}
        if _NEVER in declared:
            link(_STUB)
        if missing := sorted(name for name in declared - {_NEVER} if name.startswith(_RUNTIME)):
            raise OptctxError(
                f"cannot call {entry.removesuffix('_call')}: it needs {', '.join(missing)}, of Numba's "
                "runtime or Python, because it makes arrays or uses objects; pass arrays for its results"
            )
        _hide_all_but(entry, module)
        module.verify()
        return str(module)


def _hide_all_but(entry: str, module: binding.ModuleRef) -> None:
    for each in (*module.functions, *module.global_variables):
        if not each.is_declaration and each.name != entry:
            each.linkage = "internal"
