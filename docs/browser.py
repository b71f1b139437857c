"""Pages in a real browser. Needs Chromium (`apt-get install chromium`)."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

__all__ = ["loaded"]

# Of the graphics driver about itself: drawing without a graphics card is slow.
_SLOW = "GL Driver Message (OpenGL, Performance,"


def loaded(url: str, profile: Path, *options: str) -> str:
    """The document as it is after its scripts have run, and nothing was wrong with any of them."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    assert chromium, "no Chromium: apt-get install chromium"
    command = [
        chromium,
        "--headless",
        "--no-sandbox",  # for root, in a container
        "--disable-gpu",
        "--enable-unsafe-swiftshader",  # WebGL without a graphics card
        "--disable-dev-shm-usage",
        "--enable-logging=stderr",  # the console of the page
        f"--user-data-dir={profile}",
        "--virtual-time-budget=10000",  # milliseconds of the page's own time
        *options,
        "--dump-dom",
        url,
    ]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    console = [line for line in run.stderr.splitlines() if ":CONSOLE" in line and _SLOW not in line]
    assert console == [], console[:3]
    return run.stdout
