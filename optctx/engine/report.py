"""What was found in this process, what was redirected, what was refused and why: plain data."""

from __future__ import annotations

import platform
from collections import Counter
from typing import Any

from optctx._native import active_scopes
from optctx.arch import processor
from optctx.engine.attach import attach, engines
from optctx.engine.engine import Engine
from optctx.engine.kept import cache_folder
from optctx.errors import UnsupportedImageError
from optctx.image.facts.interceptions import SHARED_MACHINES, missing_features
from optctx.image.loaded import Image


def info(image: Image | None = None) -> dict[str, Any]:
    """Return a report that can be printed as JSON. Attaches at first use; if that fails, says why.

    `image`: about which LLVM, from `loaded_image`; None means llvmlite's, with the `images` of all.

    Keys: python, processor, active_scopes, images (one dict for each LLVM: path, build_id, symbols (the file
    that has the symbol table, or "stripped"), registry layout,
    options by scope, decoder, sites by tactic, shared_machines ("yes", or why scopes need a
    TargetMachine each), unavailable (features that this LLVM has not all it takes for, with the reason),
    refusals with their reasons, seconds that attaching took), cache_folder (where optctx keeps what attaching
    works out; it can be deleted at any time) and error.
    """
    report: dict[str, Any] = {
        "python": platform.python_version(),
        "processor": platform.machine(),
        "images": [],
        "cache_folder": cache_folder(),
        "error": None,
    }
    try:
        engine = attach(image)
        report["images"] = [_image(each) for each in (engines() if image is None else [engine])]
    except UnsupportedImageError as error:
        report["error"] = str(error)
    report["active_scopes"] = active_scopes()
    return report


def _image(engine: Engine) -> dict[str, Any]:
    options, code = engine.options, engine.plan.references
    sites = list(code.sites)
    return {
        "path": engine.image.path,
        "build_id": engine.image.build_id,
        "symbols": "stripped" if engine.image.is_stripped else engine.image.debug_file or engine.image.path,
        "attached": engine.attached,
        "registry": {
            "layout": engine.survey.registry.layout,
            "value_offset": engine.survey.registry.value_offset,
            "names": len(options),
            "options": len(engine.plan.options),
        },
        "scopes": dict(Counter(engine.resolve(option).scope for option in options.values())),
        "refused_options": {
            name: options[name].reason for name in sorted(options) if options[name].scope == "process"
        },
        "decoder": processor.decoder_package,
        "sites": {
            "redirected": len(sites),
            "by_tactic": dict(Counter(processor.tactic_name(site.tactic) for site in sites)),
            "stores": sum(site.writes for site in sites),
            "addresses_taken": sum(site.takes_address for site in sites),
            "code_pages": engine.transaction.pages,
            "trampoline_bytes": engine.transaction.trampoline_bytes,
        },
        "shared_machines": engine.hooks.unavailable.get(SHARED_MACHINES, "yes"),
        "sites_refused": dict(Counter(refusal.reason for refusal in code.refusals)),
        "unavailable": {**missing_features(engine.image), **engine.plan.unavailable},
        "attach_cache": engine.kept,
        "seconds": {name: round(seconds, 4) for name, seconds in engine.seconds.items()},
    }
