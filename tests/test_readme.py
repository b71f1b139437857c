"""What the README shows is what happens."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


def printed(code: str) -> str:
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert run.stderr == ""
    return run.stdout


NAMES = ["threads", "drift", "records", "cache", "links"]
TOLD = {"records", "cache"}  # where it is known what LLVM reads
CASES = [
    pytest.param(*example, id=name, marks=[pytest.mark.redirected] if name in TOLD else [])
    for name, example in zip(NAMES, EXAMPLES, strict=True)
]


@pytest.mark.parametrize(("code", "output"), CASES)
def test_an_example_prints_exactly_what_the_readme_says(code: str, output: str) -> None:
    assert printed(code) == output


def test_the_values_in_the_first_example_matter() -> None:
    assert len({line.split(": ")[1] for line in EXAMPLES[0][1].splitlines()}) == 4


def test_the_number_of_refused_options_is_the_one_in_the_readme() -> None:
    from optctx import registry
    from optctx.engine.attach import attach

    refused = sum(option.scope == "process" for option in registry().values())
    refused -= not attach().way.intercepts  # `debug`
    assert f"{refused} of {len(registry()):,} option names cannot" in (ROOT / "README.md").read_text()
