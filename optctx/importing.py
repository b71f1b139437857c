"""How optctx imports: names of packages on first use, and everything else where its statement stands.

Imports nothing that Python has not imported at its start: what pytest and Numba import in every run is here.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # typing's own would be an import
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any


def later(
    package: str, where: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Make the `__getattr__` and the `__dir__` of a package, some of whose names are imported on first use.

    `where`: the modules that have these names. The package is to define both where no type checker looks, for
    which every other name would stop being an error.
    """
    modules = {name: module for module, names in where.items() for name in names}

    def get(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        import_at_once()
        found = getattr(__import__(modules[name], fromlist=[name]), name)
        return vars(sys.modules[package]).setdefault(name, found)

    return get, lambda: sorted({*vars(sys.modules[package]), *modules})


def import_at_once() -> None:
    """Have the imports of optctx run where they stand, even if Python 3.15 was told to delay all of them.

    Some functions have the name of their module, which a delayed import would leave in their place.
    And attaching holds locks, under which nothing is to be imported. The program may have said so since.
    """
    if sys.version_info < (3, 15) or sys.get_lazy_imports() != "all":
        return
    others = sys.get_lazy_imports_filter()
    if others in _filters:
        return

    def delays(importing: str, imported: str, names: Any) -> bool:
        own = importing == __package__ or importing.startswith(f"{__package__}.")
        return not own and (others is None or others(importing, imported, names))

    _filters.append(delays)
    sys.set_lazy_imports_filter(delays)


_filters: list[Callable[[str, str, Any], bool]] = []  # that optctx has set
import_at_once()
