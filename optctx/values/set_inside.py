"""What code inside a scope gave to LLVM's own setters, as overrides on top of the scope's layers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from optctx import _native
from optctx._native import Kind
from optctx.errors import OptionValueError
from optctx.values.layers import HasLayers, Layers
from optctx.values.overrides import Override
from optctx.values.texts import texts_of

if TYPE_CHECKING:
    from optctx._native import Setting
    from optctx.engine.engine import Engine
    from optctx.image.options import RegisteredOption

__all__ = ["set_inside"]

# Whether all options were reset; and what was set since, by slot: the storage, and (name, text) of each
# occurrence.
Given = tuple[bool, Mapping[int, "tuple[list[tuple[str, str | None]], Setting]"]]


def set_inside(owner: HasLayers | Layers, layers: Layers) -> tuple[Layers, list[Override]] | None:
    """What this thread sees inside `owner`, whose layers these are: (layers, what was set inside).

    None if nothing was set there. Call it on a thread that is inside.
    """
    given = _native.given_inside(layers.engine.index, owner)
    return None if given is None else _with(layers, given)


def _with(layers: Layers, given: Given) -> tuple[Layers, list[Override]]:
    was_reset, by_slot = given
    engine = layers.engine
    if was_reset:
        kept = {name: each for name, each in layers.overridden().items() if each.setting is None}
        layers = Layers(engine, engine.space.no_drift(), kept, {})
    new = [_override(engine, slot, *occurrences) for slot, occurrences in by_slot.items()]
    return layers.beside(new), new


def _override(
    engine: Engine, slot: int, occurrences: list[tuple[str, str | None]], setting: Setting
) -> Override:
    """The override for an option that was set inside, under the name of its last occurrence.

    Without occurrences, code wrote the value through a pointer. The texts are then made from the value.
    """
    option = engine.plan.owners[slot]
    if not occurrences:
        return _written(engine, option, setting)
    last = occurrences[-1][0]
    texts = tuple(text for name, text in occurrences if name == last)
    return Override(last, texts, option, setting)


def _written(engine: Engine, option: RegisteredOption, setting: Setting) -> Override:
    if option.type.kind == Kind.other:
        raise OptionValueError(
            f"{option.name!r} was written through a pointer inside the scope, and its value has no "
            "text; give it to LLVM's setters, or to a context"
        )
    unnamed = Override(option.name, (), option, setting)
    value = unnamed.value()
    # A literal choice is a name of its option, such as -regbankselect-fast.
    name = value if isinstance(value, str) and value in option.names else option.name
    return Override(name, texts_of(option, name, value), option, setting)
