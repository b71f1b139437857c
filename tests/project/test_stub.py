"""The native module's stub, which the build generates."""

from pathlib import Path

from optctx import _native


def test_every_type_of_cpp_has_a_conversion() -> None:
    """One that has none compiles, stands in the stub by its own name, and fails when it is called."""
    assert "std::" not in (Path(_native.__file__).parents[1] / "_native.pyi").read_text()
