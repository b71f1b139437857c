"""Installing optctx leaves the llvmlite and the Numba of an environment as they are."""

from __future__ import annotations

import pathlib
import tomllib


def test_no_release_of_llvmlite_is_asked_for_and_none_of_numba() -> None:
    """pip installs what has bounds anew, or takes another release of what is there."""
    project = tomllib.loads((pathlib.Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    names = ("llvmlite", "numba")
    assert [each for each in project["dependencies"] if each.startswith(names)] == ["llvmlite"]
    extras = project["optional-dependencies"]
    for name in ("tune", "testing"):  # what users install
        assert not [each for each in extras[name] if each.startswith(names)]
