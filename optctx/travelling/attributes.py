"""The function attribute "optctx": whether it counts in this process, and which options it can set.

    define void @f() "optctx"="-unroll-count=4 -slp-threshold=3" { ... }

IR often comes from an untrusted source. Attributes therefore count only after the program has asked for them,
and they set only options that the program trusts modules with.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, NamedTuple

from optctx import _native
from optctx.engine import attach as engine_attach
from optctx.errors import (
    OptctxError,
    OptionValueError,
    UnsupportedImageError,
    UntrustedOptionError,
    UntrustedOptionWarning,
)
from optctx.image.loaded import Image
from optctx.reads.unread import marks
from optctx.tasks.problems import tell_of
from optctx.travelling.bindings import seen_by
from optctx.travelling.stamps import trusted_override
from optctx.values.args import parse_args
from optctx.values.layers import Layers
from optctx.values.registry import find
from optctx.values.trust import TUNING, Trust, read_for_all, trusting

if TYPE_CHECKING:
    from optctx.engine.engine import Engine
    from optctx.travelling.bindings import Owner

Attributes = Literal["ignore", "error", "warn"]

_LONGEST = 1 << 14  # bytes of an attribute; holds hundreds of options
_SHOWN = 200  # bytes of an attribute that a message shows


class Policy(NamedTuple):
    """The setting for one image. Replaced as a whole: a thread inside LLVM sees the old or the new one."""

    attributes: Attributes = "ignore"
    trust: Trust = TUNING


INITIAL = Policy()
_policies: dict[int, Policy] = {}  # by the image's index


def new_policy(engine: Engine, attributes: Attributes | None, trust: Iterable[str] | None) -> Policy:
    """Return the setting for an image with these changes. Raises as `optctx.attach` does; changes nothing."""
    wanted = _policies.get(engine.index, INITIAL)
    if trust is not None:
        wanted = wanted._replace(trust=trusting(engine, trust))
    if attributes is not None:
        wanted = wanted._replace(attributes=attributes)
    if wanted.attributes != "ignore" and not engine.intercepts:
        raise UnsupportedImageError(
            f"attributes of functions cannot count: {engine.not_intercepted}; enter scopes instead"
        )
    return wanted


def set_policy(engine: Engine, policy: Policy) -> None:
    """Put the setting in force, on every thread."""
    _policies[engine.index] = policy
    _native.count_attributes(engine.index, policy.attributes != "ignore")


def attributes_policy(image: Image | None = None) -> tuple[str, ...]:
    """Return the setting for an LLVM, for a cache key; `("ignore",)` if attributes do not count."""
    engine = engine_attach.made(image)
    policy = INITIAL if engine is None else _policies.get(engine.index, INITIAL)
    if policy.attributes == "ignore":
        return ("ignore",)
    return (policy.attributes, *sorted(policy.trust.classes), "", *sorted(policy.trust.names))


def resolve(
    image: int, text: bytes, here: Owner | None, before: int, triple: bytes
) -> Layers | Literal[False] | None:
    """Make the layers of one attribute, for native code, on the thread that runs this LLVM inside `here`.

    `before` counts the different attributes of the module that were resolved earlier. Returns None if the
    module must not run and False to compile without the attribute; the enclosing call then reports why.
    """
    policy = _policies.get(image, INITIAL)
    if policy.attributes == "ignore":
        return False
    try:
        return _read(image, text, here, before, triple, policy.trust)
    except (OptctxError, UnicodeDecodeError) as error:
        problem = _problem(text, error, policy.attributes == "warn")
    # Outside the `except` block: a traceback would keep the caller's frames alive, and the modules in them.
    tell_of(image, problem)
    return False if isinstance(problem, Warning) else None


def _problem(text: bytes, error: Exception, warns: bool) -> UntrustedOptionWarning | OptctxError:
    beginning = text[:_SHOWN].decode(errors="backslashreplace") + "..." * (len(text) > _SHOWN)
    words = f'the function attribute "optctx"="{beginning}": {error}'
    problem: UntrustedOptionWarning | OptctxError
    if warns:
        problem = UntrustedOptionWarning(f"compiled without {words}")
    elif isinstance(error, UntrustedOptionError):
        problem = UntrustedOptionError(f"nothing has been run: cannot use {words}", error.name, error.trust)
    else:
        problem = OptionValueError(f"nothing has been run: cannot use {words}")
    problem.__cause__ = error
    cause: BaseException | None = error
    while cause is not None:
        cause.__traceback__ = cause.__context__ = None
        cause = cause.__cause__
    return problem


def _read(image: int, text: bytes, here: Owner | None, before: int, triple: bytes, trust: Trust) -> Layers:
    if triple.startswith(b"spirv"):
        raise OptionValueError(
            "functions for SPIR-V cannot have options of their own, because LLVM keeps the types of all of "
            "them in one subtarget; set the options in a scope, or bind them to the LLVMContext"
        )
    if before >= _native.MOST_ATTRIBUTES:
        raise UntrustedOptionError(
            f"the functions of this module have more than {_native.MOST_ATTRIBUTES} different ones; use fewer"
        )
    if len(text) > _LONGEST:
        raise UntrustedOptionError(
            f"it is {len(text):,} bytes long, of at most {_LONGEST:,}; shorten it, or set options in a scope"
        )
    engine = engine_attach.engine_of(image)
    base = seen_by(engine, here)
    made = []
    for name, texts in parse_args(engine, text.decode(), check=trust.check).items():
        if when := read_for_all(engine.resolve(find(engine, name))):
            raise OptionValueError(
                f"no function can have {name!r} for itself, because LLVM reads it {when}; set it in a scope "
                "around the compilation, or bind it to the LLVMContext"
            )
        made.append(trusted_override(engine, name, texts, trust))
    layers = base.on_top(made)
    layers.make_native(marks(engine, "ignore", base, made))
    return layers


_native.set_callbacks(resolve=resolve)
