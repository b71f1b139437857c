"""What was found in this process, what was redirected, what was refused and why: plain data."""

from __future__ import annotations

import platform
from collections import Counter
from typing import Any

from optctx._native import active_scopes
from optctx.engine.attach import Engine, attach
from optctx.errors import UnsupportedImageError

__all__ = ["info"]


def info() -> dict[str, Any]:
    """A report that can be printed as JSON. Attaches at first use; where that fails, says why.

    Keys: python, processor, active_scopes, images (one dict for each LLVM: path, build_id, registry layout,
    options by scope, sites by tactic, refusals with their reasons, seconds that attaching took) and error.
    """
    report: dict[str, Any] = {
        "python": platform.python_version(),
        "processor": platform.machine(),
        "images": [],
        "error": None,
    }
    try:
        report["images"].append(_image(attach()))
    except UnsupportedImageError as error:
        report["error"] = str(error)
    report["active_scopes"] = active_scopes()
    return report


def _image(engine: Engine) -> dict[str, Any]:
    options = engine.options
    sites = engine.plan.sites
    return {
        "path": engine.image.path,
        "build_id": engine.image.build_id,
        "attached": engine.transaction.committed,
        "registry": {
            "layout": engine.survey.layout,
            "value_offset": engine.survey.value_offset,
            "names": len(options),
            "options": len(engine.plan.options),
        },
        "scopes": dict(Counter(engine.resolve(option).scope for option in options.values())),
        "sites": {
            "redirected": len(sites),
            "by_tactic": dict(Counter(site.tactic.value for site in sites)),
            "stores": sum(site.writes for site in sites),
            "addresses_taken": sum(site.takes_address for site in sites),
            "code_pages": engine.transaction.pages,
            "trampoline_bytes": engine.transaction.trampoline_bytes,
        },
        "refused_options": {
            name: options[name].reason for name in sorted(options) if options[name].scope == "process"
        },
        "sites_refused": dict(Counter(refusal.reason for refusal in engine.plan.refusals)),
        "seconds": {name: round(seconds, 4) for name, seconds in engine.seconds.items()},
    }
