"""Attaching beside a library whose file has any name."""

from __future__ import annotations

import ctypes
import os
import pathlib
import re
import shutil

import pytest

from optctx import UnsupportedImageError, attach, loaded_image
from optctx._native import loaded_libraries
from tests.support.alone import alone
from tests.support.scopes import four, unrolled


@alone
def test_a_library_in_a_folder_whose_name_is_not_utf8_is_a_library_like_any_other(
    tmp_path: pathlib.Path,
) -> None:
    folder = tmp_path / os.fsdecode(b"\xff")
    folder.mkdir()
    path = str(folder / "copy.so")
    shutil.copy(next(each for each, _ in loaded_libraries() if "/libm" in each), path)
    ctypes.CDLL(path)
    assert path in [each for each, _ in loaded_libraries()]
    with pytest.raises(UnsupportedImageError, match=re.escape(f"{path}: ")):
        attach(loaded_image(path))
    other = shutil.copy(path, folder / "other.so")
    ctypes.CDLL(str(other))
    for change, said in ((os.unlink, "No such file or directory"), (os.mkdir, "not a regular file")):
        change(other)
        with pytest.raises(UnsupportedImageError, match=f"cannot use this LLVM: .*other.so.*{said}"):
            loaded_image(other)
    with four():
        assert unrolled() == 4
