"""What is compiled, and under which options. Imports no optctx: the stock program uses it, too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from llvmlite import binding
from llvmlite.binding.newpassmanagers import NewPassManager

__all__ = [
    "DEFAULTS",
    "MODULES",
    "PASSES",
    "SETS",
    "TRIPLE",
    "Key",
    "by_llvmlite",
    "cases",
    "initialise",
    "key_of",
    "keys",
]

TRIPLE = "x86_64-unknown-linux-gnu"
PASSES = "default<O2>"

Options = Mapping[str, str]
Key = tuple[str, ...]  # command-line arguments in order of name
DEFAULTS: Key = ()

MODULES: dict[str, str] = {
    "scale": """
define void @scale(ptr noalias %out, ptr noalias %in, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %from = getelementptr float, ptr %in, i64 %i
  %value = load float, ptr %from
  %scaled = fmul float %value, 3.0
  %to = getelementptr float, ptr %out, i64 %i
  store float %scaled, ptr %to
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
""",
    "calls": """
declare void @use(ptr)
define internal i32 @callee(i32 %x) {
  %space = alloca [64 x i8]
  call void @use(ptr %space)
  %square = mul i32 %x, %x
  %sum = add i32 %square, 7
  ret i32 %sum
}
define i32 @caller(i32 %a, i32 %b) {
  %p = call i32 @callee(i32 %a)
  %q = call i32 @callee(i32 %b)
  %small = icmp slt i32 %p, %q
  %r = select i1 %small, i32 %p, i32 %q
  ret i32 %r
}
""",
}

# Each changes the code of one of the modules, some of them while a target machine or a pipeline is made.
SETS: tuple[Options, ...] = (
    {"unroll-count": "4"},
    {"unroll-count": "2", "force-vector-width": "1"},
    {"force-vector-width": "8"},
    {"inline-threshold": "0"},
    {"align-all-blocks": "5"},
    {"x86-asm-syntax": "intel"},
    {"pre-RA-sched": "linearize"},
)


def key_of(*scopes: Options) -> Key:
    """The arguments that stand for scopes inside one another."""
    merged: dict[str, str] = {}
    for options in scopes:
        merged.update(options)
    return tuple(f"-{name}={merged[name]}" for name in sorted(merged))


def keys() -> list[Key]:
    """Of no scope, of one, and of any two inside one another."""
    return sorted({DEFAULTS, *map(key_of, SETS), *(key_of(*pair) for pair in product(SETS, SETS))})


def cases() -> Iterator[tuple[str, Key]]:
    return product(MODULES, keys())


def initialise() -> None:
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    binding.initialize_native_asmparser()


def by_llvmlite(name: str) -> str:
    """Assembly by llvmlite's own passes and emission, with everything made here."""
    with (
        binding.create_context() as llvm_context,
        binding.parse_assembly(MODULES[name], llvm_context) as module,
        binding.Target.from_triple(TRIPLE).create_target_machine(opt=2, codemodel="default") as machine,
    ):
        tuning = binding.create_pipeline_tuning_options(speed_level=2)
        builder = binding.create_pass_builder(machine, tuning)
        manager = builder.getModulePassManager()
        try:
            manager.run(module, builder)
        finally:
            NewPassManager._dispose(manager)  # which llvmlite 0.50 never calls: 70 KB each
            manager.detach()
        return str(machine.emit_assembly(module))
