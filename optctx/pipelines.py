"""Texts of pass pipelines, checked before LLVM parses them."""

from __future__ import annotations

from optctx.errors import PassPipelineError, shown
from optctx.wording import nesting

_MOST_NESTED = 64  # parentheses of a pipeline; LLVM takes up to 8 KiB of the stack for each


def pipeline_text(pipeline: object) -> bytes:
    """Encode the text of a pipeline for LLVM. Raises TypeError or PassPipelineError."""
    if not isinstance(pipeline, str):
        raise TypeError(
            f"expected a pass pipeline as text, such as 'default<O3>', found {type(pipeline).__name__}"
        )
    if "\0" in pipeline:
        raise PassPipelineError(
            f"a pass pipeline cannot hold a NUL character, found one in {shown(pipeline)}"
        )
    if (levels := nesting(pipeline)) > _MOST_NESTED:
        raise PassPipelineError(
            f"cannot parse the pass pipeline {shown(pipeline)}: it nests {levels:,} levels deep, which can "
            f"overflow the stack of LLVM's parser; nest at most {_MOST_NESTED} levels"
        )
    try:
        return pipeline.encode()
    except UnicodeEncodeError as error:
        raise PassPipelineError(f"a pass pipeline must be encodable as UTF-8: {error}") from None
