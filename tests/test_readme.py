"""What the README shows is what happens."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def examples() -> list[tuple[str, str]]:
    """(code, what it prints) of every example in Python."""
    readme = (ROOT / "README.md").read_text()
    return re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", readme, re.DOTALL)


@pytest.mark.parametrize("number", [0, 1])
def test_the_examples_print_exactly_what_the_readme_says(number: int) -> None:
    assert len(examples()) == 2
    code, output = examples()[number]
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert run.stderr == ""
    assert run.stdout == output


def test_the_values_in_the_first_example_matter() -> None:
    _, output = examples()[0]
    assert len({line.split(": ")[1] for line in output.splitlines()}) == 4


def test_the_number_of_refused_options_is_the_one_in_the_readme() -> None:
    from optctx import registry

    refused = sum(option.scope == "process" for option in registry().values())
    assert f"{refused} of {len(registry()):,} option names cannot" in (ROOT / "README.md").read_text()
