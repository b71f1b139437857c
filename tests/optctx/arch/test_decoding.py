"""What capstone and our table make of LLVM's code is what iced-x86 makes of it, which knows everything."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest

from optctx._native import Site, instruction_length, rewrite
from optctx.arch import CannotDecodeError
from optctx.arch.code import SiteRefusal
from optctx.arch.x86_64 import intercepting, sites
from optctx.arch.x86_64.capstone_decoder import CapstoneDecoder
from optctx.arch.x86_64.decoding import Reference
from optctx.arch.x86_64.sites import Tactic, judge, references_at
from optctx.engine.attach import attach
from optctx.engine.engine import _trampolines
from optctx.hosts.llvmlite import llvmlite_image
from optctx.image.survey import survey
from optctx.plan.plan import make_plan
from optctx.plan.references import read_references
from optctx.plan.ways_in import called, find_entrances
from tests.support.alone import alone

BEGIN = 0x7F00_0000_0000  # where the code is
DISTANCE = 0x1000  # from the end of an instruction to what it refers to


CAPSTONE = CapstoneDecoder()


def iced() -> CapstoneDecoder:
    from tests.optctx.arch.iced_decoder import IcedDecoder

    return IcedDecoder()  # type: ignore[return-value]  # it has the same methods


@pytest.mark.iced
@alone
def test_in_the_whole_library_both_find_the_same() -> None:
    image = llvmlite_image()
    surveyed = survey(image, ())
    options = sorted({(option.address, option.size) for option in surveyed.options if option.size})
    assert len(options) > 2000
    targets = called(surveyed.functions.intercepted)

    def everything(decoder: CapstoneDecoder) -> dict[str, Any]:
        for module in (intercepting, sites):
            pytest.MonkeyPatch().setattr(module, "decoder", lambda: decoder)
        image.findings.forget()
        surveyed = survey(image, ())  # a plan decides in its options
        plan = make_plan(surveyed, read_references(surveyed))
        found, code = sites.find_references_to(image, options, options), plan.references
        return {
            "sites": (found.sites.pack(image.base), code.sites.pack(image.base)),
            "found": found[1:],
            "code": code[1:],
            "trampolines": list(_trampolines(image, plan)),
            "entrances": find_entrances(image, targets),
        }

    known, found = everything(iced()), everything(CAPSTONE)
    for name, wanted in known.items():
        assert found[name] == wanted, name
    assert len(attach().plan.references.sites) > 5000
    assert len(known["found"][1]) > 5000
    assert len(known["trampolines"]) > 5000
    assert len(known["entrances"]) > 300


USUAL = ("", "66", "f2", "f3", "f0", "2e", "64", "6666", "662e", "66f2", "66f0")
REX = ("", "40", "44", "48", "4d")
SIB = (0x00, 0x25, 0xA5)


@pytest.mark.iced
@pytest.mark.parametrize(
    ("usual", "rex", "least"),
    [(("", "66"), REX[::3], 50_000), pytest.param(USUAL, REX, 1_000_000, marks=pytest.mark.long)],
    ids=["some prefixes", "all"],
)
def test_a_length_that_needs_no_decoder_is_the_one_that_iced_says(
    usual: tuple[str, ...], rex: tuple[str, ...], least: int
) -> None:
    # Every opcode with every ModRM byte: what is known without a decoder is an instruction of that length.
    from iced_x86 import Decoder as Iced

    known = 0
    after = bytes(range(1, 13))
    for prefix, second, escape, opcode in itertools.product(usual, rex, ("", "0f"), range(256)):
        head = bytes.fromhex(prefix + second + escape) + bytes([opcode])
        for modrm in range(256):
            for sib in SIB if modrm >> 6 != 3 and modrm & 7 == 4 else SIB[:1]:
                code = (head + bytes([modrm, sib]) + after)[:15]
                found = instruction_length(code)
                if found is None:
                    continue
                known += 1
                by = Iced(64, code)
                instruction = by.decode()
                operand_at = 0
                if instruction.is_ip_rel_memory_operand:
                    operand_at = by.get_constant_offsets(instruction).displacement_offset - 1
                assert not instruction.is_invalid, code.hex()
                assert found == (instruction.len, operand_at), code.hex()
    assert known > least


PREFIXES = ("", "40", "48", "4c", "66", "6648", "67", "f0", "f2", "f3", "64")
MAPS = ("", "0f", "0f38", "0f3a")
LEAST = {"known": 8000, "unknown": 5000, "refused": 100}
AFTER = bytes.fromhex("0010000001020304050607")  # a displacement, and more than any immediate


def held_against_iced(codes: Iterable[bytes]) -> tuple[Counter[str], set[str]]:
    """How many instructions capstone knows, does not know and refuses; the names of those that it knows."""
    decoder = iced()
    count: Counter[str] = Counter()
    names = set()
    for code in filter(is_instruction, codes):
        end, wanted = decoder.decode(code, BEGIN)
        try:
            after, found = CAPSTONE.decode(code, BEGIN)
        except CannotDecodeError:
            count["refused"] += 1
            continue
        assert after == end, code.hex()
        if found is None or wanted is None:
            assert found is wanted, code.hex()
        elif found.known and not found.branches:
            assert found == wanted, code.hex()
            count["known"] += 1
            names.add(found.mnemonic)
        else:
            assert (found[:4], found.branches) == (wanted[:4], wanted.branches), code.hex()
            assert found.memory_bytes >= wanted.memory_bytes, code.hex()
            count["unknown"] += 1
    return count, names


SHORT_VEX = [f"c5{byte:02x}" for byte in range(256) if byte >> 3 & 0xF in (0xF, 0x7)]
LONG_VEX = [
    f"c4{extensions << 5 | opcodes:02x}{wide << 7 | 0x78 | long << 2 | prefix:02x}"
    for extensions, opcodes in itertools.product((7, 5, 0), (1, 2, 3))
    for wide, long, prefix in itertools.product((0, 1), (0, 1), range(4))
]


@pytest.mark.iced
def test_whatever_capstone_says_that_it_knows_of_an_instruction_iced_says_too() -> None:
    # Every opcode, with every extension of it and the prefixes that compilers give, on RIP-relative memory.
    count, _ = held_against_iced(
        bytes.fromhex(prefix + opcodes) + bytes([opcode, extension << 3 | 0x05]) + AFTER
        for prefix, opcodes, opcode, extension in itertools.product(PREFIXES, MAPS, range(256), range(8))
    )
    assert all(count[name] > least for name, least in LEAST.items()), count
    _, known = held_against_iced(
        bytes.fromhex(prefix) + bytes([opcode, 0x05]) + AFTER
        for prefix, opcode in itertools.product(SHORT_VEX + LONG_VEX, range(256))
    )
    assert len(known) > 80, sorted(known)


def is_instruction(code: bytes) -> bool:
    from iced_x86 import Decoder as Iced

    return not Iced(64, code).decode().is_invalid


def reference(before: str, after: str = "") -> Reference:
    """The instruction of these bytes before and after its displacement, in the middle of others."""
    code = bytes.fromhex(before) + (DISTANCE).to_bytes(4, "little") + bytes.fromhex(after)
    around = b"\x90" * 40
    place = BEGIN + len(around) + len(bytes.fromhex(before)) - 1
    [found] = references_at([place], around + code + around, BEGIN, CAPSTONE)
    assert (found.address, found.code) == (BEGIN + len(around), code)
    assert found.target == found.address + len(code) + DISTANCE
    return found


def outcome(found: Reference, size: int = 8) -> Any:
    """What would be done: a reason, or (tactic, scratch, its letters)."""
    result = judge(found, (found.target, size), "f")
    if isinstance(result, SiteRefusal):
        return result.reason
    letters = (("r", result.reads), ("w", result.writes), ("a", result.takes_address))
    return result.tactic, result.scratch, "".join(letter for letter, holds in letters if holds)


RAX, RCX, RDX, R11 = 0, 1, 2, 11
FREE, KEPT = Tactic.DESTINATION, Tactic.SAVED


# (bytes before the displacement, bytes after it, size of the storage, what is done)
JUDGED: list[tuple[str, str, int, Any]] = [
    ("ff15", "", 8, (Tactic.CALL, R11, "r")),  # call [memory]
    ("ff25", "", 8, (Tactic.CALL, R11, "r")),  # jmp [memory]
    ("3eff25", "", 8, "a branch of another kind than call or jmp through memory"),  # notrack jmp [memory]
    ("8b05", "", 8, (FREE, RAX, "r")),  # mov eax, [memory]
    ("4c8b25", "", 8, (KEPT, RAX, "r")),  # mov r12, [memory]
    ("8b05", "", 3, "reaches past the storage"),
    ("8a05", "", 8, (KEPT, RCX, "r")),  # mov al, [memory]
    ("488b25", "", 8, "uses the stack pointer"),  # mov rsp, [memory]
    ("ff35", "", 8, "uses the stack pointer"),  # push [memory]
    ("0fb605", "", 1, (FREE, RAX, "r")),  # movzx eax, byte [memory]
    ("488d05", "", 0, (FREE, RAX, "ra")),  # lea rax, [memory]
    ("668d05", "", 0, (KEPT, RCX, "ra")),  # lea ax, [memory]
    ("8905", "", 4, (KEPT, RCX, "w")),  # mov [memory], eax
    ("c705", "01000000", 4, (KEPT, RAX, "w")),  # mov dword [memory], 1
    ("8305", "01", 4, (KEPT, RAX, "rw")),  # add dword [memory], 1
    ("f00fc105", "", 4, (KEPT, RCX, "rw")),  # lock xadd [memory], eax
    ("f00fb10d", "", 4, (KEPT, RDX, "rw")),  # lock cmpxchg [memory], ecx: eax as well
    ("803d", "00", 1, (KEPT, RAX, "r")),  # cmp byte [memory], 0
    ("f735", "", 4, (KEPT, RCX, "r")),  # div dword [memory]: eax and edx
    ("f30f1005", "", 4, (KEPT, RAX, "r")),  # movss xmm0, [memory]
    ("0f1005", "", 16, (KEPT, RAX, "r")),  # movups xmm0, [memory]
    ("0f2805", "", 16, "may need storage that is aligned as LLVM's own is"),  # movaps xmm0, [memory]
    ("c5fc2805", "", 32, "may need storage that is aligned as LLVM's own is"),  # vmovaps ymm0, [memory]
    ("c5fc1005", "", 32, (KEPT, RAX, "r")),  # vmovups ymm0, [memory]
    ("c5fc1005", "", 31, "reaches past the storage"),
]


def test_what_is_done_with_an_instruction() -> None:
    found = [
        (before, after, size, outcome(reference(before, after), size)) for before, after, size, _ in JUDGED
    ]
    assert found == JUDGED


def test_a_vector_may_have_to_be_aligned_where_every_copy_is() -> None:
    """To 16 bytes, where LLVM's own storage is."""
    load, wide = reference("0f2805"), reference("c5fc2805")  # movaps xmm0; vmovaps ymm0
    for found, below, taken in ((load, 0, True), (load, 16, True), (load, 8, False), (wide, 0, False)):
        found = found._replace(target=BEGIN)
        result = judge(found, (found.target - below, 64), "f")
        assert isinstance(result, Site) is taken, (found, below)


def test_an_instruction_that_a_jump_does_not_fit_in_is_refused() -> None:
    short = reference("8b05")._replace(code=b"\x8b\x05\0\0")
    assert outcome(short) == "shorter than a jump"


def test_code_that_is_rewritten_wrongly_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    head, tail, right = b"\x83\x05", b"\x01", rewrite  # add dword [memory], 1
    wrong = sites._wrong_rewrite.__wrapped__
    assert wrong(head, tail, RAX) == ""
    for changed, to in ((1, 0x81), (2, 0x79), (6, 2)):  # another base; displacement; number
        monkeypatch.setattr(
            sites, "rewrite", lambda *a, at=changed, to=to: (c := right(*a))[:at] + bytes([to]) + c[at + 1 :]
        )
        assert "decodes as 'add dword ptr [" in wrong(head, tail, RAX), changed


def test_what_capstone_is_not_sure_of_is_refused() -> None:
    # popcnt; bt reaches further; vmovss with EVEX, and with a prefix; vbroadcastss
    for before in ("f30fb805", "0fa305", "62f17e081005", "64c5fa1005", "c4e27d1805"):
        found = reference(before)
        assert outcome(found) == "not known well enough by the decoder", before
        assert found.memory_bytes > 64, before  # whoever asks what it refers to is told too much


def test_bytes_in_the_middle_of_an_instruction_are_none() -> None:
    inner = bytes.fromhex("8b0500100000")
    code = b"\x48\xb8" + inner + b"\0\0" + inner + b"\xc3"  # mov rax, constant; mov eax, [memory]; ret
    places = [BEGIN + at for at in (3, 11)]
    assert [each.address - BEGIN for each in references_at(places, code, BEGIN, CAPSTONE)] == [10]
    # The scan proposes both; the second is a displacement of the first.
    code = bytes.fromhex("8b05") + bytes.fromhex("0500100000") + b"\x90" * 20
    places = [BEGIN + 1, BEGIN + 2]
    assert [each.modrm_at for each in references_at(places, code, BEGIN, CAPSTONE)] == [1]


def test_an_instruction_that_the_end_of_its_function_cuts_off_refers_to_nothing() -> None:
    code = b"\x90\x90\x8b\x05\0\x10\0\0"
    for size in range(4, len(code)):
        assert list(references_at([BEGIN + 3], code[:size], BEGIN, CAPSTONE)) == []
    assert len(list(references_at([BEGIN + 3], code, BEGIN, CAPSTONE))) == 1


def test_capstone_does_not_guess_where_instructions_begin() -> None:
    for other in (
        "62f57c48580500100000",  # vaddph zmm0, zmm0, [memory]
        "0fb9",  # ud1, which has operands
        "3e66260f81",  # jno, with more prefixes
        "06",  # no instruction
    ):
        code = bytes.fromhex(other) + b"\x90" * 20 + bytes.fromhex("8b0500100000") + b"\x90" * 20
        place = BEGIN + code.index(b"\x8b\x05") + 1
        with pytest.raises(CannotDecodeError, match=f" {other}"):
            list(references_at([place], code, BEGIN, CAPSTONE))


def test_an_instruction_on_another_base_is_the_same() -> None:
    def difference(old: str, new: str, base: int = RCX, displacement: int = 0x78) -> str:
        return CAPSTONE.difference(bytes.fromhex(old), bytes.fromhex(new), BEGIN, base, displacement)

    old = "488b0500100000"  # mov rax, [memory]
    assert difference(old, "488b8178000000") == ""
    assert difference("803d0010000005", "80b97800000005") == ""  # cmp byte [memory], 5
    assert difference("ff1500100000", "41ff9378000000", R11) == ""  # call [memory]
    for wrong in (
        "488b8078000000",  # on another base
        "488b8179000000",  # elsewhere
        "8b8178000000",  # half of it
        "488d8178000000",  # lea
        "488b817800000090",  # and then some
        "488b840178000000",  # with an index
        "488b0578000000",  # relative to the next instruction
    ):
        assert "expected 'mov rax" in difference(old, wrong), wrong
    assert difference("833d0010000005", "4883b97800000005") != ""  # cmp of eight bytes, not four
