"""The end of an array is no address of the option beside it."""

from __future__ import annotations

import ctypes
import pathlib
from collections.abc import Set
from typing import Any

from optctx import loaded_image
from optctx.arch import processor
from optctx.image.survey import Survey
from optctx.plan.plan import Plan, make_plan
from optctx.plan.references import find_ends, read_references
from tests.support.alone import alone
from tests.support.cpp_build import SHARED, compile_cpp


def planned(surveyed: Survey) -> Plan:
    return make_plan(surveyed, read_references(surveyed))


@alone
def test_an_address_that_may_be_the_end_of_another_object_is_refused(tmp_path: pathlib.Path) -> None:
    flags = (*SHARED, "-Wl,--build-id=sha1", "-fno-stack-protector")
    library = compile_cpp("ends.cpp", tmp_path / "ends.so", *flags)
    ctypes.CDLL(str(library))
    image: Any = loaded_image(library)
    option, behind, table = map(image.symbol, ("option", "behind_option", "table"))
    spans = [(option, 32), (behind, 32), (table, 32)]

    def settled(tables: Set[int] = frozenset()) -> tuple[set[object], set[object]]:
        found = processor.find_references_to(image, spans, [])
        assert not found.refusals
        refusals = find_ends(image, found.sites, dict(spans), tables)
        unsure = {refusal.address for refusal in refusals}
        sites = [site for site in found.sites if site.address not in unsure]
        for refusal in refusals:
            assert "the end of an array beside" in refusal.reason
        redirected: set[object] = {(image.name_of(site.function), site.region) for site in sites}
        return redirected, {(refusal.function, refusal.region) for refusal in refusals}

    sites, refusals = settled()
    assert sites == {
        ("takes_the_option", option),  # refers to nothing else
        ("reads_both", option),  # a load is no end
        ("takes_the_next_one", option),
        ("takes_the_next_one", behind),  # nothing goes over an option
    }, sites
    ends = {("goes_over_the_array", option), ("goes_over_members", option), ("goes_down", behind)}
    assert refusals == {*ends, ("takes_the_table", table)}, refusals
    # A constant that one instruction alone may refer to is what that refers to.
    sites.add(("takes_the_table", table))
    assert settled({table}) == (sites, ends)


@alone
def test_in_a_stripped_library_all_that_is_not_known_may_be_an_array(tmp_path: pathlib.Path) -> None:
    flags = (*SHARED, "-Wl,--build-id=sha1", "-fno-stack-protector")
    library = compile_cpp("ends.cpp", tmp_path / "ends.so", *flags)
    stripped = compile_cpp("ends.cpp", tmp_path / "stripped.so", *flags, "-s")
    ctypes.CDLL(str(library)), ctypes.CDLL(str(stripped))
    named, image = loaded_image(library), loaded_image(stripped)
    symbols = [named.named(name) for name in ("option", "behind_option", "table")]
    offsets = [each.address - named.base for each in symbols if each is not None]
    spans = [(image.base + offset, 32) for offset in offsets]

    def refused() -> set[tuple[str, int]]:
        found = processor.find_references_to(image, spans, [])
        refusals = find_ends(image, found.sites, dict(spans), set())
        return {(each.function, each.region - image.base) for each in refusals}

    assert image.is_stripped
    image.add_symbols([("", offset, 32, False) for offset in offsets])
    option, behind, table = offsets
    ends = {("goes_over_the_array", option), ("goes_over_members", option), ("goes_down", behind)}
    assert refused() == {*ends, ("takes_the_table", table)}
