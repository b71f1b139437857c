"""The end of an array is no address of the option beside it."""

from __future__ import annotations

import ctypes
import pathlib
from collections.abc import Set

from optctx import loaded_image
from optctx.arch import processor
from optctx.image.loaded import Image
from optctx.plan.references import find_ends
from tests.support.alone import alone
from tests.support.cpp_build import SHARED, compile_cpp


@alone
def test_an_address_that_may_be_the_end_of_another_object_is_refused(tmp_path: pathlib.Path) -> None:
    """In a stripped library all that is not known may be an array."""
    flags = (*SHARED, "-Wl,--build-id=sha1", "-fno-stack-protector")
    libraries = tmp_path / "ends.so", tmp_path / "stripped.so"
    for library, more in zip(libraries, ((), ("-s",)), strict=True):
        ctypes.CDLL(str(compile_cpp("ends.cpp", library, *flags, *more)))
    named, stripped = map(loaded_image, libraries)
    check(named, named)
    check(named, stripped)


def check(named: Image, image: Image) -> None:
    """`named`: the same library with its symbols."""
    symbols = [named.named(name) for name in ("option", "behind_option", "table")]
    option, behind, table = (each.address - named.base for each in symbols if each is not None)
    spans = [(image.base + offset, 32) for offset in (option, behind, table)]
    assert image.is_stripped == (image is not named)
    if image.is_stripped:
        image.add_symbols([("", offset, 32, False) for offset in (option, behind, table)])

    def settled(tables: Set[int] = frozenset()) -> tuple[set[object], set[object]]:
        found = processor.find_references_to(image, spans, [])
        assert image.is_stripped or not found.refusals
        refusals = find_ends(image, found.sites, dict(spans), tables)
        unsure = {refusal.address for refusal in refusals}
        sites = [site for site in found.sites if site.address not in unsure]
        for refusal in refusals:
            assert "the end of an array beside" in refusal.reason
        redirected: set[object] = {(image.name_of(site.function), site.region - image.base) for site in sites}
        return redirected, {(refusal.function, refusal.region - image.base) for refusal in refusals}

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
    assert settled({image.base + table}) == (sites, ends)
