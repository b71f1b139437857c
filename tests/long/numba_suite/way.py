"""A plugin of pytest: all tests of the run stock, with optctx attached, or inside a scope, as WAY says."""

from __future__ import annotations

import os

if os.environ["WAY"] != "stock":
    import optctx

    optctx.attach()
    if os.environ["WAY"] == "scope":
        optctx.OptionContext().__enter__()  # until the process ends
