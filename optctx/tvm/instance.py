"""`LLVMInstance`: the one entry point to LLVM, which owns its initialisation and an LLVMContext."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from optctx.compiling import initialise_targets
from optctx.errors import OptctxError, OptionTypeError, ScopeError, clipped

if TYPE_CHECKING:
    from os import PathLike

    from llvmlite.binding import ModuleRef
    from llvmlite.binding.context import ContextRef

_BITCODE = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")  # plain, and in a wrapper


class LLVMInstance:
    """Initialise LLVM with all its targets, and own an LLVMContext for the modules that it reads.

    Only one thread at a time may use the LLVMContext. To compile in parallel, give each thread an instance. A
    context manager: after its block no more modules can be read, and targets made from it lose their
    LLVMContext. Modules that were read earlier stay valid.
    """

    def __init__(self) -> None:
        from llvmlite import binding  # importing optctx works without llvmlite, here and below

        initialise_targets()
        self._llvm_context: ContextRef | None = binding.create_context()

    @property
    def llvm_context(self) -> ContextRef:
        """The LLVMContext of the modules. Raises ScopeError if the instance is closed."""
        if self._llvm_context is None:
            raise ScopeError("cannot use an LLVMInstance that is closed; keep it open, or make another one")
        return self._llvm_context

    def parse_ir(self, llvm_ir: str | bytes) -> ModuleRef:
        """Read a module from text or bitcode. LLVM reads under the option values of this thread.

        Raises:
            OptctxError: LLVM cannot read it; the message carries LLVM's words.
            OptionTypeError: `llvm_ir` is neither str nor bytes.
            ScopeError: The instance is closed.
        """
        return self._parse(llvm_ir, "<string>")

    def load_ir(self, file_name: str | PathLike[str]) -> ModuleRef:
        """Read a module from a file, which holds text or bitcode.

        Raises OSError if the file cannot be read, and otherwise what `parse_ir` raises.
        """
        return self._parse(Path(file_name).read_bytes(), str(file_name))

    def close(self) -> None:
        """Close the instance. A second call does nothing."""
        self._llvm_context = None  # its modules keep it alive

    def __enter__(self) -> LLVMInstance:
        self.llvm_context  # noqa: B018  raises if it is closed
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _parse(self, ir: str | bytes, place: str) -> ModuleRef:
        from llvmlite import binding

        if not isinstance(ir, (str, bytes)):
            raise OptionTypeError(f"a module is read from str or bytes, found {type(ir).__name__}")
        llvm_context = self.llvm_context
        try:
            if isinstance(ir, bytes) and ir.startswith(_BITCODE):
                return binding.parse_bitcode(ir, llvm_context)
            return binding.parse_assembly(_text(ir), llvm_context)
        except (RuntimeError, ValueError) as error:
            words = clipped(" ".join(str(error).split()))
            raise OptctxError(f"cannot read the module {place}: {words}") from None


def _text(ir: str | bytes) -> str:
    """The text of a module. Raises ValueError for bytes that are neither bitcode nor text."""
    text = ir if isinstance(ir, str) else ir.decode()
    if "\0" in text:
        raise ValueError("expected bitcode or text, found a NUL character in what is no bitcode")
    return text


LLVMScope = LLVMInstance  # the name in TVM's RFC 83
