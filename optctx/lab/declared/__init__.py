"""LLVM's registry of options as declared data: Python dataclasses, JSON, and TableGen records."""

from optctx.lab.declared.model import DeclaredOption, declared_options
from optctx.lab.declared.python import as_python
from optctx.lab.declared.text import as_json

__all__ = ["DeclaredOption", "as_json", "as_python", "declared_options"]
