"""Findings as Python programs that need nothing of this folder."""

from __future__ import annotations

from tests.long.fuzz.module_case import Case

__all__ = ["literal", "module_program"]


def module_program(case: Case) -> str:
    """Does what `perform` of the modules target does with a case."""
    first, *others = case.texts()
    lines = [
        "from llvmlite import binding",
        "import optctx",
        "binding.initialize_all_targets()",
        "binding.initialize_all_asmprinters()",
        f"optctx.attach(attributes={case.mode!r})",
        f"module = binding.parse_assembly({literal(first)})",
    ]
    lines += [f"module.link_in(binding.parse_assembly({literal(other)}))" for other in others]
    if case.bitcode or case.flips:
        lines.append("data = bytearray(module.as_bitcode())")
        for place, more in case.flips:
            at = f"int({place} * len(data))"
            lines.append(f"data[{at}] = (data[{at}] + {more}) % 256")
        lines.append("module = binding.parse_bitcode(bytes(data))")
    if case.triple:
        lines.append(f"module.triple = {case.triple!r}")
    target = "binding.Target.from_triple(module.triple)"
    lines.append(f"machine = {target}.create_target_machine(opt={case.opt_level})")
    if case.passes:
        lines.append(f"optctx.run_passes(module, {case.passes!r}, target_machine=machine)")
    if case.emit:
        lines.append(f"optctx.emit_{case.emit}(module, machine)")
    return "\n".join(lines)


def literal(ir: str) -> str:
    """A string of Python that can be read."""
    text = "\n".join(line for line in ir.splitlines() if line)
    return f'r"""\n{text}\n"""' if '"""' not in text and "\r" not in text else repr(ir)
