"""What an LLVM's options are, saved and compared, and as a Python module."""

from optctx.lab.lookup.between import Change, Difference, compare
from optctx.lab.lookup.python_module import as_python, by_library, identifiers
from optctx.lab.lookup.saved import MOST_BYTES, facts_as_json, facts_as_rows, load_facts

__all__ = [
    "MOST_BYTES",
    "Change",
    "Difference",
    "as_python",
    "by_library",
    "compare",
    "facts_as_json",
    "facts_as_rows",
    "identifiers",
    "load_facts",
]
