"""What the tests run with. A free-threaded Python lacks wheels, and a sanitizer takes memory and time."""

from __future__ import annotations

import os
import re
import sysconfig
from typing import Final

FREE_THREADED: Final = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
NEEDS_NUMBA: Final = "needs Numba, which is not installed on a free-threaded Python"
SANITIZED: Final = re.search("lib(a|t|ub)san", os.environ.get("LD_PRELOAD", "")) is not None
