"""The census of an LLVM library: where its options are stored, and which code reads them how."""

from optctx.lab.census.compare import Change, Difference, compare
from optctx.lab.census.facts import Census, OptionFacts, Reader
from optctx.lab.census.saved import census_as_json, load_census
from optctx.lab.census.take import census

__all__ = [
    "Census",
    "Change",
    "Difference",
    "OptionFacts",
    "Reader",
    "census",
    "census_as_json",
    "compare",
    "load_census",
]
