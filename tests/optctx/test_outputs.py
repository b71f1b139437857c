"""Files that results go to: replaced as a whole, whatever happens while they are written."""

from __future__ import annotations

import os
import pathlib
import resource
import stat

import pytest

from optctx import OptionContext
from optctx.errors import OptctxError
from optctx.outputs import write_whole


def test_on_a_full_disk_the_old_file_stays_and_nothing_else(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "best.toml"
    path.write_text("the old one")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40, before[1]))  # bytes of a file; Python ignores the signal
    try:
        with pytest.raises(OptctxError, match=r"best\.toml"):
            OptionContext({"unroll-count": 4}).save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [(each, each.read_text()) for each in tmp_path.iterdir()] == [(path, "the old one")]


def test_links_permissions_and_devices_stay(tmp_path: pathlib.Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    write_whole(link, "new")
    assert (link.is_symlink(), target.read_text()) == (True, "new")
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    write_whole("/dev/null", "nothing")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    with pytest.raises(OptctxError, match=r"cannot write '?/dev/full'?: No space left on device"):
        write_whole("/dev/full", "nothing")
    reading, writing = os.pipe()
    write_whole(f"/dev/fd/{writing}", "through a pipe")
    assert os.read(reading, 100) == b"through a pipe"
    for descriptor in (reading, writing):
        os.close(descriptor)
    old = os.umask(0o027)
    try:
        write_whole(tmp_path / "fresh", "")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "fresh").stat().st_mode) == 0o640
