"""`LLVMTargetInfo`: what LLVM needs to know about a target. It sets no options."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from optctx import lookup
from optctx.errors import OptionTypeError, TargetError, shown
from optctx.lazy import lazy
from optctx.tvm.instance import LLVMInstance
from optctx.tvm.machine import (
    GENERIC,
    accepted_cpu,
    architecture,
    back_end,
    check_abi,
    check_float_abi,
    make_machine,
    process_triple,
)
from optctx.tvm.options import ClOption, UnknownMode, check_unknown, read_options
from optctx.tvm.target import FAST_MATH, Target, TargetLike

if TYPE_CHECKING:
    from llvmlite.binding import TargetMachine

_DEFAULT = "default"
_HIGHEST_LEVEL = 3
_JIT_ENGINES = ("orcjit", "mcjit")
_WIDEST = 65536  # bits of a vector
_WIDTHS = {"x86_64": 512, "i386": 256, "i686": 256}
_OTHER_WIDTH = 128


class LLVMTargetInfo:
    """What LLVM needs to know about a target: triple, processor, features, level, fast-math flags, options.

    Checks everything and sets nothing. `str(info)` is the text that TVM writes into the metadata of a module:
    JSON with the keys that matter to LLVM.

    Args:
        instance: The entry point to LLVM.
        target: One line, JSON as text or as a mapping, or a Target.
        unknown: What to do about a processor or an option (`cl-opt`) that this LLVM does not have. "warn"
            uses the generic processor, or leaves the option out, with a TargetWarning, as TVM does.

    Raises:
        TargetError: The target cannot be read, LLVM does not know a name in it, or llvmlite cannot make such
            a target machine.
        OptionTypeError, UnknownOptionError, OptionValueError, ProcessWideOptionError: As for `from_target`.
        ScopeError: The instance is closed.
    """

    _options: tuple[ClOption, ...]

    def __init__(self, instance: LLVMInstance, target: TargetLike, *, unknown: UnknownMode = "error") -> None:
        check_unknown(unknown)
        self._describe(instance, Target(target), unknown)
        self._options = read_options(self._target, unknown)

    def _describe(self, instance: LLVMInstance, target: Target, unknown: UnknownMode) -> None:
        """Read and check everything but the options."""
        if not isinstance(instance, LLVMInstance):
            raise OptionTypeError(f"expected an LLVMInstance first, found {shown(instance)}")
        instance.llvm_context  # noqa: B018  raises if it is closed
        self._instance = instance
        self._target = target
        attrs = target.attrs
        given = attrs.get("mtriple", _DEFAULT)
        self._triple = process_triple() if given in ("", _DEFAULT) else str(given)
        back_end(self._triple)  # raises if there is none
        self._check_values()
        self._cpu = accepted_cpu(
            self._triple, attrs.get("mcpu", GENERIC) or GENERIC, self.target_feature_string, unknown
        )

    def _check_values(self) -> None:
        attrs = self._target.attrs
        if attrs.get("jit", "orcjit") not in _JIT_ENGINES:
            raise TargetError(f'jit: expected "orcjit" or "mcjit", found {shown(attrs["jit"])}')
        if not 0 < attrs.get("vector-width", 1) <= _WIDEST:
            raise TargetError(f"vector-width: expected 1 to {_WIDEST}, found {attrs['vector-width']}")
        if abi := attrs.get("mabi"):
            check_abi(self._triple, self.target_features, abi)
        if float_abi := attrs.get("mfloat-abi"):
            check_float_abi(self._triple, float_abi)

    @property
    def target_triple(self) -> str:
        """The triple; that of this process if the target names none or "default"."""
        return self._triple

    @property
    def cpu(self) -> str:
        """The processor; "generic" if the target names none."""
        return self._cpu

    @property
    def target_features(self) -> tuple[str, ...]:
        """Features of the processor that are turned on or off, such as "+avx2"."""
        return tuple(self._target.attrs.get("mattr", ()))

    @property
    def target_feature_string(self) -> str:
        """The features, separated by commas."""
        return ",".join(self.target_features)

    @property
    def opt_level(self) -> int:
        """The optimisation level, 0 to 3; 3 if the target names none."""
        return int(min(max(self._target.attrs.get("opt-level", _HIGHEST_LEVEL), 0), _HIGHEST_LEVEL))

    @property
    def fast_math_flags(self) -> tuple[str, ...]:
        """The flags for floating-point instructions, as llvmlite's IRBuilder takes them (`flags=`)."""
        attrs = self._target.attrs
        given = tuple(flag for key, flag in FAST_MATH.items() if attrs.get(key))
        return ("fast",) if attrs.get("fast-math") or len(given) == len(FAST_MATH) else given

    @property
    def jit_engine(self) -> str:
        """ "orcjit" (the default) or "mcjit"."""
        return str(self._target.attrs.get("jit", "orcjit"))

    @property
    def vector_width(self) -> int:
        """Bits of a vector: those given, or what TVM assumes for the architecture.

        Raises TargetError for RISC-V, where TVM asks the processor, if the target does not say.
        """
        given = self._target.attrs.get("vector-width")
        arch = architecture(self._triple)
        if given is None and arch.startswith("riscv"):
            raise TargetError(f"no vector width is known for {self._triple}; give the target a vector-width")
        return int(given or _WIDTHS.get(arch, _OTHER_WIDTH))

    @property
    def command_line_options(self) -> tuple[ClOption, ...]:
        """The LLVM options that the target sets, in its order."""
        return self._options

    def matches_global_state(self) -> bool:
        """Return whether this thread sees the options of the target with the values that it asks for."""
        wanted = {option.name: option.value for option in self._options}
        return all(lookup(name) == value for name, value in wanted.items())

    def get_or_create_target_machine(self) -> TargetMachine:
        """Return the target machine. The first call makes it.

        Code that it emits depends on the option values of the thread that uses it, not of the one that made
        it. Raises TargetError.
        """
        return self._machine

    @lazy
    def _machine(self) -> TargetMachine:
        return self._make_machine()

    def _make_machine(self) -> TargetMachine:
        abi = self._target.attrs.get("mabi", "")
        return make_machine(self._triple, self._cpu, self.target_feature_string, self.opt_level, abi)

    def __str__(self) -> str:
        return json.dumps(self._export(), separators=(",", ":"))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def _export(self) -> dict[str, Any]:
        """The keys in TVM's order, without values that are the defaults."""
        attrs = self._target.attrs
        flags = self.fast_math_flags
        options = [str(option) for option in self._options]
        fast = dict.fromkeys(
            ("fast-math",) if flags == ("fast",) else (f"fast-math-{flag}" for flag in flags), True
        )
        return {
            "kind": "llvm",
            "mtriple": self._triple,
            **({"mcpu": self._cpu} if self._cpu != GENERIC else {}),
            **({"mattr": list(self.target_features)} if self.target_features else {}),
            **{key: attrs[key] for key in ("mfloat-abi", "mabi") if attrs.get(key)},
            **fast,
            **({"opt-level": self.opt_level} if self.opt_level != _HIGHEST_LEVEL else {}),
            **({"cl-opt": options} if options else {}),
            **({"jit": self.jit_engine} if self.jit_engine != _JIT_ENGINES[0] else {}),
            **{key: attrs[key] for key in ("vector-width",) if key in attrs},
        }
