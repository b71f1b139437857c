"""Compiling on several threads at once, each with its own option values, without llvmlite's lock."""

from optctx.passes.compiling import emit_assembly, emit_object, instruction_count, run_passes

__all__ = ["emit_assembly", "emit_object", "instruction_count", "run_passes"]
