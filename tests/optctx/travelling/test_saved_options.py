"""Option values in files: what a search found, and what a stranger wrote."""

from __future__ import annotations

import pathlib

import pytest

from optctx import OptionContext, UntrustedOptionError
from tests.support.scopes import unrolled


def test_a_saved_context_means_the_same_when_it_is_loaded(tmp_path: pathlib.Path, unchanged: None) -> None:
    file = tmp_path / "best.toml"
    context = OptionContext(
        {"unroll-count": 4, "internalize-public-api-list": ["f", "g"], "regbankselect-fast": True}
    )
    context.save(file, passes='function(loop-unroll),"x"')
    assert 'passes = "function(loop-unroll),\\"x\\""' in file.read_text()
    loaded = OptionContext.load(file, trust=("tuning", "internalize-public-api-list", "regbankselect-fast"))
    assert loaded == context
    with loaded:
        assert unrolled() == 4
    assert [path.name for path in tmp_path.iterdir()] == ["best.toml"]


def test_a_file_is_loaded_on_its_base_and_trusted_on_request(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "best.toml"
    OptionContext(unroll_count=4).save(file)
    with OptionContext(inline_threshold=7):
        assert OptionContext.load(file)["inline-threshold"] == 7
        assert OptionContext.load(file, base="defaults")["inline-threshold"] != 7
    file.write_text('format = 1\n[options]\nprint-after-all = ["true"]\n')
    with pytest.raises(UntrustedOptionError):
        OptionContext.load(file)
    assert OptionContext.load(file, trust=("tuning", "output"))["print-after-all"] is True
