"""Nothing that native code throws reaches the thunks before LLVM's functions, which have no unwind table."""

from __future__ import annotations

import os
import sys

import pytest

from tests.support.cpp_build import SHARED, Build
from tests.support.installed import SANITIZED
from tests.support.processes import WARNINGS, output_of

SAID = """\
bound_run
0 raised
1 raised
2 raised
True
command_line
0 raised
1 raised
2 raised
True
True True
"""


@pytest.mark.skipif(SANITIZED, reason="a sanitizer has an operator new of its own")
def test_where_there_is_no_memory_a_run_of_llvms_and_its_parser_raise_and_the_process_goes_on(
    build: Build,
) -> None:
    library = build("no_memory.cpp", *SHARED)
    environment = {**os.environ, "LD_PRELOAD": str(library)}
    program = "-m", "tests.programs.no_memory", library
    assert output_of(sys.executable, *WARNINGS, *program, env=environment) == SAID
