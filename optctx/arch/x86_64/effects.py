"""What instructions do to an operand in memory (Intel SDM vol. 2), where capstone is unreliable.

Lists the instructions that compilers use on variables. Any other counts as not known, which is safe.
"""

from __future__ import annotations

__all__ = ["AS_FIRST", "AS_OTHER", "READ", "WRITE", "implicit_registers", "is_vex"]

READ, WRITE = 1, 2
_ACCESS = {"r": READ, "w": WRITE, "rw": READ | WRITE, "none": 0}

# Columns: the access if memory is the first operand, and if it is another operand. "-": there is no such
# form, or it is not listed.
_GENERAL = """
rw r    add or adc sbb and sub xor
rw rw   xchg
rw -    inc dec neg not rol ror rcl rcr shl shr sar xadd cmpxchg
w  r    mov
r  r    cmp test imul
r  -    mul div idiv push
w  -    pop
w  -    seta setae setb setbe sete setg setge setl setle setne setno setnp setns seto setp sets
-  r    cmova cmovae cmovb cmovbe cmove cmovg cmovge cmovl
-  r    cmovle cmovne cmovno cmovnp cmovns cmovo cmovp cmovs
-  r    movzx movsx movsxd
-  none lea
"""
# Of SSE, which have the same operand in memory with a VEX prefix, and then a `v` in front of their name.
_SSE = """
w  r    movss movsd movd movq movhps movlps movhpd movlpd movups movupd movdqu movaps movapd movdqa
-  r    lddqu comiss comisd ucomiss ucomisd
-  r    addss addsd addps addpd subss subsd subps subpd mulss mulsd mulps mulpd divss divsd divps divpd
-  r    minss minsd minps minpd maxss maxsd maxps maxpd sqrtss sqrtsd sqrtps sqrtpd
-  r    andps andpd andnps andnpd orps orpd xorps xorpd pand pandn por pxor
-  r    paddb paddw paddd paddq psubb psubw psubd psubq
-  r    pcmpeqb pcmpeqw pcmpeqd pcmpgtb pcmpgtw pcmpgtd
-  r    cvtss2sd cvtsd2ss cvtsi2ss cvtsi2sd cvtss2si cvtsd2si cvttss2si cvttsd2si
"""


def _column(index: int) -> dict[str, int]:
    found: dict[str, int] = {}
    for table, prefixes in ((_GENERAL, ("",)), (_SSE, ("", "v"))):
        for line in filter(None, table.split("\n")):
            access, names = line.split()[index], line.split()[2:]
            if access != "-":
                found.update((prefix + name, _ACCESS[access]) for name in names for prefix in prefixes)
    return found


AS_FIRST, AS_OTHER = _column(0), _column(1)


def is_vex(mnemonic: str) -> bool:
    """Tell whether only a VEX or EVEX prefix makes an instruction of that name."""
    return mnemonic.startswith("v")


_RAX, _RDX, _RSP = 0, 2, 4


def implicit_registers(mnemonic: str, operands: int, memory_bytes: int) -> set[int]:
    """Return the numbers of the general-purpose registers that the instruction uses without naming them."""
    if mnemonic in ("push", "pop"):
        return {_RSP}
    if mnemonic == "cmpxchg":
        return {_RAX}
    if mnemonic in ("imul", "mul", "div", "idiv") and operands == 1:
        return {_RAX} if memory_bytes == 1 else {_RAX, _RDX}  # ax, or for example edx:eax
    return set()
