"""The native module's stub in the sources is the one that the build generates."""

from pathlib import Path

import optctx
from optctx import _native


def test_the_committed_stub_is_the_generated_one() -> None:
    generated = Path(_native.__file__).parents[1] / "_native.pyi"
    committed = Path(optctx.__file__).parent / "_native.pyi"
    assert committed.read_text() == generated.read_text(), (
        f"copy {generated.name} from the build into optctx/"
    )
    # A type of C++ without a conversion compiles, stands here by its own name, and fails when it is called.
    assert "std::" not in committed.read_text()
