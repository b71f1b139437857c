"""Modules to stamp, to link and to write out, for the tests of links. They are in LLVM's global context."""

from __future__ import annotations

from collections.abc import Mapping

from llvmlite import binding

from optctx import OptionContext, stamp


def context_of(options: Mapping[str, object]) -> OptionContext:
    return OptionContext(options, base="defaults")


def module_of(name: str, llvm_context: object = None, body: str = "") -> binding.ModuleRef:
    """An unstamped module, by default of one function that is called as the module is up to the dot."""
    body = body or f'define internal void @"{name.partition(".")[0]}"() {{ ret void }}'
    return binding.parse_assembly(f'source_filename = "{name}"\n{body}', llvm_context)


def stamped(name: str, /, **options: object) -> binding.ModuleRef:
    module = module_of(name)
    stamp(module, context_of({option.replace("_", "-"): value for option, value in options.items()}))
    return module


def noted(nodes: str, name: str = "odd.c") -> binding.ModuleRef:
    """A module that somebody else wrote metadata into: !0 is its stamp, `nodes` defines it."""
    return module_of(name, body=f"!optctx.options = !{{!0}}\n{nodes}")


def through_bitcode(module: binding.ModuleRef) -> binding.ModuleRef:
    return binding.parse_bitcode(module.as_bitcode())


def through_text(module: binding.ModuleRef) -> binding.ModuleRef:
    return binding.parse_assembly(str(module))


def linked(*modules: binding.ModuleRef) -> binding.ModuleRef:
    """A new module of all; those given stay as they are."""
    first, *others = map(through_bitcode, modules)
    for other in others:
        first.link_in(other)
    return first
