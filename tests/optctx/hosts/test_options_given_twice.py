"""LLVM takes an option as often as it is given, as the guide says: the last value counts, a list collects."""

from __future__ import annotations

from llvmlite import binding

from optctx import Option, registry
from tests.support.alone import alone

FLAGS: dict[str, object] = {"true": True, "false": False}
NUMBERS: dict[str, object] = {"1": 1, "2": 2}
TEXTS: dict[str, object] = {"1": "1", "2": "2"}
VALUES = {
    **dict.fromkeys(("bool", "boolOrDefault"), FLAGS),
    **dict.fromkeys(("int", "uint", "int64", "uint64", "double", "float"), NUMBERS),
    **dict.fromkeys(("string", "list"), TEXTS),
}


def values(option: Option) -> dict[str, object]:
    """Two texts that the option takes, with what they mean; none if it takes other ones."""
    if option.choices:
        names = [name for name in option.choices if name and name not in registry()]
        return {name: name for name in names[:2]} if option.type == "enum" and len(names) > 1 else {}
    return VALUES.get(option.type, {})


@alone
def test_the_last_value_of_an_option_counts_and_a_list_collects() -> None:
    """If LLVM refused one, it would end this process."""
    given = 0
    for name, option in registry().items():
        texts = values(option) if option.scope == "thread" else {}
        if len(texts) != 2 or name == "debug" or name in option.choices:  # that prints; those take no value
            continue
        for text in texts:
            binding.set_option("", f"-{name}={text}")
        found, last = registry()[name].value, list(texts.values())[-1]
        if isinstance(found, list):
            found, last = [str(each) for each in found], list(texts)
        assert found == last, name
        given += 1
    assert given > 2000
