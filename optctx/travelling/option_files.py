"""Option values in a TOML file, such as those that a search has found.

format = 1
passes = "default<O3>"

[options]
"unroll-count" = ["4"]                  an option: the text of each occurrence
"regbankselect-fast" = [true]           an occurrence without a value
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from optctx.errors import OptctxError, OptionTypeError, shown
from optctx.outputs import write_whole
from optctx.travelling.stamps import by_name, trusted_overrides

if TYPE_CHECKING:
    from optctx.engine.engine import Engine
    from optctx.values.overrides import Override
    from optctx.values.texts import Texts
    from optctx.values.trust import Trust

_FORMAT = 1
_OWN = ("format", "options")
_KEY = re.compile(r"[A-Za-z0-9_-]+")
_MOST_BYTES = 1 << 20  # of a file
_MOST_OPTIONS = 4096
_HEAD = "# Option values of LLVM. To compile under them: with OptionContext.load(FILE): ...\n"


def write_options(
    path: str | os.PathLike[str], options: Mapping[str, Texts], about: Mapping[str, str]
) -> None:
    """Write a file, or replace it as a whole. `about`: what it says beside the options.

    Raises OptctxError if it cannot be written, OptionTypeError if `about` could not be read again.
    """
    from optctx.toml import quoted  # takes a tenth of the time of importing optctx

    for key, text in about.items():
        if key in _OWN or not _KEY.fullmatch(key) or not isinstance(text, str):
            raise OptionTypeError(
                f"cannot write {shown(key)} into a file of options: expected a text under a name of letters, "
                f"digits, _ and -, other than {' and '.join(_OWN)}, found {shown(text)}"
            )
    lines = [_HEAD, f"format = {_FORMAT}"]
    lines += [f"{key} = {quoted(text)}" for key, text in about.items()]
    lines += ["", "[options]"]
    for option in sorted(options, key=by_name):
        texts = ("true" if text is None else quoted(text) for text in options[option])
        lines.append(f"{quoted(option)} = [{', '.join(texts)}]")
    write_whole(path, "\n".join(lines) + "\n")


def read_options(engine: Engine, path: str | os.PathLike[str], trust: Trust) -> list[Override]:
    """Read the options of a file that `write_options` wrote, if they are trusted.

    Raises OptctxError for a file that cannot be read or that `write_options` did not write. Raises
    UntrustedOptionError, UnknownOptionError, OptionValueError and ProcessWideOptionError, with the file's
    name.
    """
    name = shown(os.fsdecode(path))
    return trusted_overrides(engine, _options(path, name), name, trust)


def _options(path: str | os.PathLike[str], name: str) -> dict[str, Texts]:
    from optctx.toml import read_toml

    table = read_toml(path, _MOST_BYTES)
    known = table.get("format") == _FORMAT and isinstance(table.get("options"), dict)
    if not known or not all(isinstance(table[key], str) for key in table.keys() - _OWN):
        raise OptctxError(
            f"cannot read {name}: expected option values (format = {_FORMAT} and [options]), found "
            "something else"
        )
    options: dict[str, Any] = table["options"]
    if len(options) > _MOST_OPTIONS:
        raise OptctxError(
            f"cannot read {name}: it has {len(options):,} options, of at most {_MOST_OPTIONS:,}"
        )
    return {option: _texts(option, texts, name) for option, texts in options.items()}


def _texts(option: str, texts: object, name: str) -> Texts:
    if not isinstance(texts, list) or not all(each is True or isinstance(each, str) for each in texts):
        raise OptctxError(
            f'cannot read {name}: expected a list of texts for {shown(option)}, such as ["4"], found '
            f"{shown(texts)}"
        )
    return tuple(None if each is True else each for each in texts)
