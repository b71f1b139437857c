"""Random programs over scopes, as plain data: what several threads do, round by round."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

Options: TypeAlias = tuple[tuple[str, str], ...]  # (name, text on a command line)

Action = Literal[
    "enter",  # one of the program's contexts
    "nest",  # a new context on top of what this thread is inside of; `way`: whether C++ makes and enters it
    "leave",  # the innermost scope
    "die",  # the thread ends inside its scopes; another one goes on with its steps
    "set",  # give LLVM's own setter a value, inside a scope
    "drift",  # the same outside
    "write",  # have LLVM itself write to an option
    "look",  # compile through optctx
    "look by llvmlite",  # compile as code that knows of no optctx
    "carry",  # compile elsewhere, wrapped or in a copy of contextvars; `other`: and in a child of fork
    "inside",  # what `way` names, in a scope of its own: see `Inside` in running.py
    "bind",  # compile a module whose LLVMContext is bound to one of the program's contexts
    "fork",  # compile in a child, inside, outside and in two other contexts
    "detach",  # which is refused while any thread is inside
]


class Step(NamedTuple):
    """What a thread does. `context` and `other`: indexes of the program's contexts; in "inside" a die."""

    action: Action
    context: int = -1
    other: int = -1
    options: Options = ()
    way: str = ""


class Context(NamedTuple):
    """A context that is made before the threads begin.

    `base`: "inherit", "defaults", or the index of an earlier one. `way`: how it comes about.
    """

    base: str | int
    options: Options = ()
    way: Literal["made", "derived", "pickled"] = "made"


# The steps of each thread. All threads take theirs at the same time; the round ends when all are done.
Round: TypeAlias = tuple[tuple[Step, ...], ...]

Outside = Literal["allow", "defaults", "error"]


class Program(NamedTuple):
    """What several threads do.

    `drift`: what is set for the process before anything else. `outside`: the rule for compilations outside
    every scope.
    """

    drift: Options
    contexts: tuple[Context, ...]
    rounds: tuple[Round, ...]
    outside: Outside = "allow"


def described(program: Program) -> str:
    """The program in lines."""
    lines = [f"drift {program.drift}", f"outside {program.outside}", *map(str, program.contexts)]
    for number, steps in enumerate(program.rounds):
        for thread, own in enumerate(steps):
            lines += [f"round {number}, thread {thread}: {step}" for step in own]
    return "\n".join(lines)
