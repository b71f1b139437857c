"""Which options could go, and into what: by their readers, and by the tests of LLVM that set them.

    python -m evidence.conformance.usage [--list FILE]

Each option counts for the first of these that holds:

delete: no code of the library reads it.
process: contexts refuse it, or it is on the heap, where its readers are not known.
untested: no RUN line of LLVM's tests sets it. The tests are LLVM 19's, so this holds for each newer option.
pass parameter: it is read nowhere but while passes are made: by their constructors, or in the library Passes.
attribute: each function that reads it has a Function or a MachineFunction.
module flag: each has at least a Module or an LLVMContext.
argument: some reader has none of these.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence

from evidence.census.counts import constructs
from evidence.conformance.choice import absolute, add_source, new_parser, tests_root
from evidence.conformance.runlines import commands
from evidence.strategies.library_options import has_context
from optctx import registry
from optctx.facts import OptionFacts, Reader, facts

FATES = ("delete", "process", "untested", "pass parameter", "attribute", "module flag", "argument")
_FUNCTION = frozenset({"Function", "MachineFunction"})
_MODULE = _FUNCTION | {"Module", "LLVMContext"}
_NAME = re.compile(r"(?<![\w.=/-])--?([A-Za-z][\w.-]*)")


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0; 2 if there is no source."""
    options = make_parser().parse_args(arguments)
    root = tests_root(options, "usage")
    tests = uses(path.read_text(errors="replace") for path in sorted(root.rglob("*")) if path.is_file())
    real = [option for option in facts().options if not option.alias_of]
    used = {option.name: sum(tests[name] for name in _own_names(option)) for option in real}
    fates = {option.name: fate(option, used[option.name]) for option in real}
    count = Counter(fates.values())
    print(f"{len(real):,} options")
    print(*(f"{count[name]:8,}  {name}" for name in FATES), sep="\n")
    print(f"{sum(1 for number in used.values() if number == 1):8,}  set by a single test file")
    if options.list:
        lines = (f"{name}\t{each}\t{used[name]}\n" for name, each in sorted(fates.items()))
        options.list.write_text("".join(lines))
    return 0


def _own_names(option: OptionFacts) -> list[str]:
    """Its name, and those that are names of the same registered object, not aliases."""
    known = registry()
    return [option.name, *(name for name in option.aliases if known[name].alias_of is None)]


def uses(texts: Iterable[str]) -> Counter[str]:
    """Word with a dash in front -> the texts whose RUN lines have it."""
    found: Counter[str] = Counter()
    for text in texts:
        if "RUN:" in text:
            found.update({name for _, command in commands(text) for name in _NAME.findall(command)})
    return found


def fate(option: OptionFacts, tests: int) -> str:
    """One of FATES. `tests`: how many test files set it."""
    if option.never_read:
        return "delete"
    if option.scope == "process" or option.readers is None:
        return "process"
    if not tests:
        return "untested"
    if all(map(_makes_passes, option.readers)):
        return "pass parameter"
    for contexts, name in ((_FUNCTION, "attribute"), (_MODULE, "module flag")):
        if all(has_context(reader.function, contexts) for reader in option.readers):
            return name
    return "argument"


def _makes_passes(reader: Reader) -> bool:
    """Whether it runs while passes and pipelines are made."""
    return reader.library == "Passes" or (constructs(reader) and "Pass::" in reader.function)


def make_parser() -> argparse.ArgumentParser:
    """Of the command's arguments."""
    parser = new_parser(".usage", __doc__)
    add_source(parser, "a folder of tests, in place of llvm/test")
    parser.add_argument("--list", type=absolute, metavar="FILE.tsv", help="write each option there")
    return parser


if __name__ == "__main__":
    sys.exit(main())
