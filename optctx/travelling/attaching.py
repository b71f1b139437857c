"""`attach` and `detach`, with what a program decides for all threads of the process."""

from __future__ import annotations

from collections.abc import Iterable

from optctx.engine import attach as engine_attach
from optctx.image.loaded import Image
from optctx.travelling.attributes import Attributes, check_attributes, new_policy, reset_policy, set_policy
from optctx.travelling.outside import Outside, check_outside, reset_outside, set_outside

__all__ = ["attach", "detach"]


def attach(
    image: Image | None = None,
    *,
    attributes: Attributes | None = None,
    trust: Iterable[str] | None = None,
    outside: Outside | None = None,
) -> None:
    """Attach to an LLVM of this process, if nothing has attached yet.

    Reaches the whole process: from now on contexts that are entered or bound count on every thread. Attaching
    alone changes nothing for any module. The first use of a context attaches as well.

    Args:
        image: Which LLVM, from `loaded_image`; None means llvmlite's.
        attributes: Whether the attribute "optctx" of functions counts, on every thread, until `detach`.
            "ignore": no (initially). "error": yes, and a refused attribute makes the enclosing call raise
            before any pass has run on the module. "warn": yes, and a function with a refused attribute
            compiles without it, with an UntrustedOptionWarning. None leaves the setting as it is. An
            attribute is refused if LLVM does not accept it, or if it sets an option that is not trusted.
        trust: What attributes can set: classes of options (`Option.trust`), and names of single options.
            Initially `("tuning",)`: options that change nothing but the generated code. None leaves the
            setting as it is.
        outside: What happens if LLVM runs passes or emits code on a thread outside every scope, on a module
            whose LLVMContext is not bound. Counts for every thread of this process and its forked children,
            until `detach`. "allow": it reads the process-wide values (initially). "warn": it also issues an
            OutsideScopeWarning, which names the caller. "error": the enclosing call raises OutsideScopeError
            before any pass has run; `with OptionContext():` permits a compilation with the values that it
            has there. "defaults": it reads the registered values, whatever was set process-wide. None leaves
            the setting as it is.

    Raises:
        UnsupportedImageError: The library does not check out. Or attributes or another `outside` than "allow"
            are asked for where threads take turns, or "warn" or "error" for an LLVM that the program calls
            itself. No setting was changed.
        ScopeError: `outside` is to change while compilations run outside every scope. No setting was changed.
        OptionTypeError, UnknownOptionError: An argument is wrong.
    """
    check_attributes(attributes)
    check_outside(outside)
    engine = engine_attach.attach(image)
    policy = new_policy(engine, attributes, trust)
    if outside is not None:
        set_outside(engine, outside)
    set_policy(engine, policy)


def detach(image: Image | None = None) -> None:
    """Restore LLVM's original instructions, for the whole process. The next use attaches again.

    The settings of `attach` return to their initial values: attributes of functions stop counting, and code
    outside every scope compiles with the process-wide values. A scope that was only carried elsewhere
    (`copy_context`) has no effect until the next use. `image`: from which LLVM, as for `attach`.

    Raises:
        ScopeError: A thread is inside a context or records, or an LLVMContext is bound. Nothing was changed.
    """
    engine = engine_attach.made(image)
    engine_attach.detach(image)
    if engine is not None:
        reset_policy(engine)
        reset_outside(engine)
