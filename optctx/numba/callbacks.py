"""C callbacks (`numba.cfunc`) under LLVM options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from numba.core import sigutils
from numba.core.ccallback import CFunc

from optctx.context import OptionContext, current
from optctx.numba.cache import OptionsCache
from optctx.numba.place import Options, check_arguments, target_for
from optctx.numba.target import OptionsTarget

__all__ = ["OptionsCFunc", "cfunc"]


class OptionsCFunc(CFunc):  # type: ignore[misc]
    """A callback that Numba compiles, when it is made, under the values of one target."""

    def __init__(self, target: OptionsTarget, *args: Any, **named: Any) -> None:
        self._targetdescr = target
        super().__init__(*args, **named)

    @property
    def llvm_options(self) -> OptionContext:
        """The values under which this callback is compiled."""
        return self._targetdescr.context

    def enable_caching(self) -> None:
        self._cache = OptionsCache(self._pyfunc, self._targetdescr)

    def compile(self) -> None:
        with self._targetdescr.compiling():
            super().compile()


def cfunc(
    sig: Any,
    locals: Mapping[str, Any] = MappingProxyType({}),
    cache: bool = False,
    pipeline_class: Any = None,
    *,
    options: Options = None,
    **named: Any,
) -> Callable[[Any], OptionsCFunc]:
    """Decorate a function as `numba.cfunc` does, and compile it, with all that it calls, under LLVM options.

    Args:
        sig, locals, cache, pipeline_class, named: As for `numba.cfunc`.
        options: Option name -> value, or an OptionContext. None: the values that are in force where the
            decorator runs.

    Raises as `njit` does.
    """
    check_arguments("cfunc", (sig,), named)
    target = target_for("cfunc", current() if options is None else options)
    signature = sigutils.normalize_signature(sig)
    more = {} if pipeline_class is None else {"pipeline_class": pipeline_class}

    def decorate(function: Any) -> OptionsCFunc:
        made = OptionsCFunc(target, function, signature, locals=dict(locals), options=named, **more)
        if cache:
            made.enable_caching()
        made.compile()
        return made

    return decorate
