"""The start of scripts that change code of the real library by hand."""

from __future__ import annotations

import textwrap

__all__ = ["script"]

# `sites`: what attaching would redirect, as (address, bytes, new code); nothing is attached yet.
PREPARE = """
from optctx._native import Transaction, identity_view, read_bytes, read_words, thread_offset
from optctx.engine.redirecting import Redirecting, _trampolines
from optctx.engine.mechanism import Clock
from optctx.image.loaded import image_index, llvmlite_image
from optctx.image.survey import survey
from support import changed_code, unrolled

image = llvmlite_image()
index = image_index(image)
plan = Redirecting(image, survey(image), Clock()).plan
begin, end = image.text_begin, image.text_end
sites = list(_trampolines(plan, index))
assert len(sites) > 5000 and changed_code() == []

def as_before():
    return all(read_bytes(address, len(code)) == code for address, code, _ in sites) and not changed_code()

def refused(words, *arguments):
    try:
        Transaction(*arguments)
    except RuntimeError as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"expected a refusal: {words}")
    assert as_before()

"""


def script(text: str) -> str:
    return PREPARE + textwrap.dedent(text)
