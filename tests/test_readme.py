"""What the README shows is what happens."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_example_prints_exactly_what_the_readme_says() -> None:
    readme = (ROOT / "README.md").read_text()
    found = re.search(r"```python\n(?P<code>.*?)```\n\n```\n(?P<output>.*?)```", readme, re.DOTALL)
    assert found is not None
    run = subprocess.run(
        [sys.executable, "-c", found["code"]], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert run.stderr == ""
    assert run.stdout == found["output"]
    assert len({line.split(": ")[1] for line in run.stdout.splitlines()}) == 4, "the values must matter"


def test_the_number_of_refused_options_is_the_one_in_the_readme() -> None:
    from optctx import registry

    refused = sum(option.scope == "process" for option in registry().values())
    assert f"{refused} of {len(registry()):,} option names cannot" in (ROOT / "README.md").read_text()
