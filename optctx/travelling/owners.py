"""Who owns the values that LLVM sees on a thread: a context, or the layers of a function's attribute."""

from __future__ import annotations

from optctx.reads.unread import marks
from optctx.values.layers import HasLayers, Layers, set_inside

__all__ = ["Owner", "seen_by"]

Owner = HasLayers | Layers


def seen_by(owner: Owner) -> Layers:
    """The layers of an owner, as this thread sees them inside: with what was set there.

    Reads of what is made on top of them count for the owner.
    """
    layers = owner if isinstance(owner, Layers) else owner._layers
    found = set_inside(owner, layers)
    if found is None:
        return layers
    seen, new = found
    seen.make_native(marks(layers.engine, "ignore", layers, new))
    return seen
