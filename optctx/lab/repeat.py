"""The lines that compile a module once more as a trial did: for clang, for opt and llc, and for Numba.

A target as llc takes it is read here, too.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from optctx.compiling import CodeModel, Job
from optctx.errors import OptctxError, shown
from optctx.lab.program import SOURCES, words_of
from optctx.lab.space import overrides_of
from optctx.process import option_name

_LEVEL = re.compile(r"default<O([0123sz])>")
_LLC = {"mtriple": "triple", "mcpu": "cpu", "mattr": "features"}
_LLC |= {"relocation-model": "reloc", "code-model": "code_model"}
# As opt and llc name relocation models; "" is their default.
_RELOC = {"default": "", "static": "static", "pic": "pic", "dynamicnopic": "dynamic-no-pic"}
# As opt, llc and clang name code models; "" is their default.
_MODEL = {each: each for each in get_args(CodeModel)} | {"default": "", "jitdefault": "large"}
_CLANG_RELOC = {"static": "-fno-pic", "pic": "-fPIC"}


@dataclass(frozen=True)
class Source:
    """What was compiled, as commands name it.

    `file`: as it was given: LLVM IR, bitcode, or C or C++ that `clang` compiles, a program with its options;
    "-" is standard input. `job`: that was read from it. `options`: of every compilation, as opt takes them.
    """

    file: str
    job: Job
    clang: tuple[str, ...] = ("clang",)
    options: tuple[str, ...] = ()

    @property
    def compiled(self) -> bool:
        """Whether clang makes the module."""
        return os.path.splitext(self.file)[1] in SOURCES


def lines_of(chosen: Mapping[str, str], source: Source) -> dict[str, str]:
    """The lines for how to compile with options of a trial, and "numba", a decorator of a function.

    They are given on top of those of every compilation; those with the value "default" are left alone.
    "numba" is "" for another LLVM than llvmlite's.
    """
    own = overrides_of(chosen)
    base = [each for each in source.options if option_name(each) not in own]
    given = [*base, *(f"-{name}={text}" for name, text in own.items())]
    texts: dict[str, list[str]] = {}
    for argument in given:
        name, equals, text = argument.lstrip("-").partition("=")
        texts.setdefault(name, []).append(text if equals else "true")
    options = {name: each if len(each) > 1 else each[0] for name, each in texts.items()}
    decorator = "" if source.job.llvm else f"@optctx.numba.njit(options={options!r})"
    return {**shell_lines(given, source), "numba": decorator}


def shell_lines(given: Sequence[str], source: Source) -> dict[str, str]:
    """The lines for a POSIX shell, one command each, for options as opt takes them.

    "front" compiles C or C++ to a module, and is "" for a module; "opt" and "llc" go by it. "clang" compiles
    with clang's own pipeline, which is about the same; "" if clang has none like it. Every text is quoted: no
    name of an option or a file, and no value, can be more than itself.
    """
    stem = "stdin" if source.file == "-" else os.path.splitext(os.path.basename(source.file))[0]
    stem, file = _name(stem), _name(source.file)
    module = f"{stem}.bc" if source.compiled else file
    target, level, job = tool_target(source.job), _LEVEL.fullmatch(source.job.passes), source.job
    front = front_words(source, module) if source.compiled else []
    llc = ["llc", f"-O{job.opt_level}", "-filetype=obj", *target, *given, "-o", f"{stem}.o", f"{stem}.opt.bc"]
    clang: list[str] = []
    if level is not None and source.file != "-" and job.reloc in _CLANG_RELOC:
        program, *own = source.clang
        options = [word for option in given for word in ("-mllvm", option)]
        clang = [program, f"-O{level[1]}", *_clang_target(job), *(own if source.compiled else []), *options]
        clang += ["-c", "-o", f"{stem}.o", "--", source.file]
    words = {
        "front": front,
        "opt": ["opt", f"-passes={job.passes}", *target, *given, "-o", f"{stem}.opt.bc", module],
        "llc": llc,
        "clang": clang,
    }
    return {name: shlex.join(each) for name, each in words.items()}


def shown_lines(lines: dict[str, str]) -> list[str]:
    """The same for a terminal. Nothing for clang if it has no pipeline like it."""
    tools = " && ".join(lines[name] for name in ("front", "opt", "llc") if lines[name])
    return [*([f"clang: {lines['clang']}"] if lines["clang"] else []), f"opt and llc: {tools}"]


def front_words(source: Source, module: str) -> list[str]:
    """The command that makes a module of C or C++.

    Nothing is optimised, though at a level: without one, functions would be marked as not to be optimised.
    """
    fixed = ["-c", "-emit-llvm", "-O2", "-Xclang", "-disable-llvm-passes"]
    program, *own = source.clang
    return [program, *fixed, *_clang_target(source.job), *own, "-o", module, "--", source.file]


def _clang_target(job: Job) -> list[str]:
    """The target for clang, which writes much of it into the module."""
    words = [f"--target={job.triple}"] if job.triple else []
    words += [_CLANG_RELOC[job.reloc]] if job.reloc in _CLANG_RELOC else []
    words += [f"-mcmodel={model}"] if (model := _MODEL[job.code_model]) else []
    own = ["-target-cpu", job.cpu] if job.cpu else []
    for feature in filter(None, job.features.split(",")):
        own += ["-target-feature", feature]
    return [*words, *(word for each in own for word in ("-Xclang", each))]


def _name(file: str) -> str:
    """A name that no command takes for an option; "-" is standard input."""
    return f"./{file}" if file.startswith("-") and file != "-" else file


def tool_target(job: Job) -> list[str]:
    """The target for opt and llc."""
    reloc, model = _RELOC[job.reloc], _MODEL[job.code_model]
    return [
        *([f"-mtriple={job.triple}"] if job.triple else []),
        *([f"-mcpu={job.cpu}"] if job.cpu else []),
        *([f"-mattr={job.features}"] if job.features else []),
        *([f"-relocation-model={reloc}"] if reloc else []),
        *([f"-code-model={model}"] if model else []),
    ]


def target_of(llc: str) -> dict[str, Any]:
    """The fields of a Job for a target as llc takes it, the opposite of `tool_target`.

    Raises OptctxError for what is no part of a target.
    """
    target: dict[str, Any] = {}
    for word in words_of("--llc", llc):
        name, _, value = word.lstrip("-").partition("=")
        if re.fullmatch("-O[0-3]", word):
            target["opt_level"] = int(word[2])
        elif word.startswith("-") and name in _LLC and value:
            target[_LLC[name]] = value.replace("dynamic-no-pic", "dynamicnopic") if "reloc" in name else value
        else:
            known = ", ".join(f"-{each}=" for each in _LLC)
            raise OptctxError(
                f"cannot use --llc {shown(llc)}: expected {known} or -O0 to -O3, found {shown(word)}; an "
                "option of LLVM is set by --set NAME=VALUE"
            )
    return target
