"""Options that other code gives names of files, which need not be UTF-8."""

from __future__ import annotations

import os
import pathlib
import pickle
from functools import partial

import pytest
from llvmlite import binding
from llvmlite.binding import ffi

from optctx import OptionContext, OptionValueError, current, drift, record, registry, run_passes, stamp
from optctx.process import all_arguments
from tests.support.alone import alone
from tests.support.ir_texts import SCALE

NAME = "internalize-public-api-file"


def check_no_text_is_made(context: OptionContext, file: str) -> None:
    assert context[NAME] == file
    path = pathlib.Path(f"{file}.toml")
    assert context != OptionContext(base="defaults")
    module = binding.parse_assembly(SCALE)
    for use in (pickle.dumps, partial(stamp, module), lambda given: given.save(path), all_arguments):
        with pytest.raises(OptionValueError, match=f"'{NAME}'.* no text form"):
            use(context)
    assert not path.exists()
    assert "optctx.options" not in str(module)


@alone
def test_a_name_that_is_not_utf8_is_told_as_python_has_it_and_is_no_text_for_other_processes(
    tmp_path: pathlib.Path,
) -> None:
    named = tmp_path / os.fsdecode(b"a\xff")
    named.write_text("scale\n")
    file = str(named)

    def give() -> None:
        ffi.lib.LLVMPY_SetCommandLine(b"test", b"-%b=%b" % (NAME.encode(), os.fsencode(file)))

    with OptionContext(base="defaults") as context:
        give()
        check_no_text_is_made(context.with_sets(), file)
    assert not drift()
    give()
    assert (registry()[NAME].value, drift()[NAME].value) == (file, file)
    check_no_text_is_made(current(), file)
    with OptionContext(), record() as log, binding.parse_assembly(SCALE, binding.create_context()) as module:
        run_passes(module, "internalize")
    assert log.reads[NAME].value == file
    assert log.fingerprint()
