"""Attaching beside a library whose file has any name."""

from __future__ import annotations

import ctypes
import os
import pathlib
import re
import shutil
from collections.abc import Callable

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
    other = shutil.copy(path, folder / "other.so")
    ctypes.CDLL(str(other))
    with pytest.raises(UnsupportedImageError, match=re.escape(f"{other}: ")):
        attach(loaded_image(other))
    steps: list[tuple[Callable[[], object], str]] = [
        (lambda: os.unlink(path), f"open {path} failed: No such file or directory"),
        (lambda: os.mkdir(path), f"{path}: not a regular file"),
    ]
    for happens, said in steps:
        happens()
        with pytest.raises(UnsupportedImageError, match=re.escape(f"cannot use this LLVM: {said}")):
            loaded_image(path)
    with four():
        assert unrolled() == 4
