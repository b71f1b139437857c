"""What pyproject.toml installs for the tests: less on a free-threaded Python, where wheels are missing."""

from __future__ import annotations

import sysconfig
from typing import Final

__all__ = ["FREE_THREADED", "NEEDS_NUMBA"]

FREE_THREADED: Final = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
NEEDS_NUMBA: Final = "needs Numba, which is not installed on a free-threaded Python"
