"""The helper process of a sweep whose workers end before they begin, as where no thread can be started."""

from __future__ import annotations

import os
from typing import NoReturn

from optctx.lab.sweep import supervisor


def serve(*arguments: object) -> NoReturn:
    os._exit(1)


def main() -> int:
    supervisor.serve = serve  # type: ignore[assignment, attr-defined]
    return supervisor.main()
