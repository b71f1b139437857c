"""What the properties compile: a few lines whose code depends on each of a few options."""

from __future__ import annotations

from typing import Final

from tests.support.ir_texts import COUNTED, SCALE, X86

# Read in a pass with its occurrences, in a pass behind a cl::location, and where a target's objects are made.
OPTIONS: Final = (
    ("-force-vector-width=2",),
    ("-force-vector-width=8",),
    ("-unroll-count=2",),
    ("-x86-asm-syntax=intel",),
)
KERNEL: Final = f'target triple = "{X86}"\n{SCALE}{COUNTED}'
