"""In a child on one processor: objects that LLVM's own LLJIT loads, called, compared and timed.

What a kernel does stays there: it may crash, hang, write anywhere and print. Base and candidates are called
with the same buffers, at the same addresses.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import math
import os
import random
import struct
import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import Any

from optctx.errors import OptctxError, shown
from optctx.lab.timing.kernel import NUMBERS, Kernel, arguments_of, unusable

BASE, AGAIN = "base", "again"  # names of the base and of its second copy among objects
_WORD = 8  # bytes of an argument or a returned value
_SAMPLE = 1e-3  # seconds of processor time that a sample lasts, or longer
_MOST_CALLS = 1 << 24
_TURN = 0.02  # seconds of samples of one object in a round
_MOST_SAMPLES = 5  # of one object in a round
_LONG = 0.01  # seconds: longer calls need no call before them that fills the caches

# No Python runs between calls; nothing here knows how a processor passes arguments.
_CALLER = """
define void @optctx_calls(ptr %function, ptr %words, ptr %result, i64 %calls) {{
entry:
{loads}
  br label %loop
loop:
  %done = phi i64 [ 0, %entry ], [ %next, %loop ]
  {call}
  %next = add i64 %done, 1
  %more = icmp ult i64 %next, %calls
  br i1 %more, label %loop, label %end
end:
  ret void
}}
"""


def prepare() -> None:
    """In the server: load what every child needs."""
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # a server forks, so it has one thread
    with contextlib.suppress(ImportError):
        import numpy  # noqa: F401  harnesses mostly need it


def check_base(_: None, kernel: Kernel, base: bytes) -> tuple[int, float]:
    """Call the base twice. Return how many calls make a sample, and the seconds that one takes.

    Raises OptctxError if it cannot be loaded, or gives different outputs for the same inputs.
    """
    loaded = Loaded(kernel, {BASE: base})
    first, second = loaded.outputs(BASE), loaded.outputs(BASE)
    if difference := loaded.difference(first, second):
        raise OptctxError(f"it gives different outputs for the same inputs: {difference}")
    return loaded.calibrated()


def check(_: None, kernel: Kernel, base: bytes, code: bytes) -> str:
    """Call base and candidate once. Return where the candidate's outputs differ, in words; "" for nowhere."""
    loaded = Loaded(kernel, {BASE: base, AGAIN: code})
    return loaded.difference(loaded.outputs(BASE), loaded.outputs(AGAIN))


def sample_all(
    _: None, kernel: Kernel, objects: dict[str, bytes], calls: int, seconds: float
) -> dict[str, float]:
    """Sample each object in turn, in random order. Return the ratio of the base's time to its own.

    Returned under "": the median of the base's seconds for one call. `seconds`: that one call takes.
    """
    gc.disable()
    draw = random.Random()  # of its own seed: a child has the state of its server
    names = draw.sample(list(objects), len(objects))
    loaded = Loaded(kernel, {name: objects[name] for name in names})
    loaded.restore_changed_only()
    samples: dict[str, list[float]] = {name: [] for name in objects}
    for turn in range(1 + max(1, min(_MOST_SAMPLES, int(_TURN / max(1e-9, seconds * calls))))):
        for name in draw.sample(names, len(names)):
            if seconds < _LONG:
                loaded.call(name, 1)
            taken = loaded.call(name, calls)
            if turn:  # the first one fills caches
                samples[name].append(max(1e-9, taken) / calls)
    ratios = {
        name: median(one / two for one, two in zip(samples[BASE], taken, strict=True))
        for name, taken in samples.items()
    }
    return {**ratios, "": median(samples[BASE])}


class Loaded:
    """Objects in memory, and the arguments with which each of them is called."""

    def __init__(self, kernel: Kernel, objects: Mapping[str, bytes]) -> None:
        """Raises OptctxError for an object that cannot be loaded, and for arguments that do not fit."""
        from llvmlite import binding

        self._kernel = kernel
        self._given = arguments_of(kernel)
        self._words = (ctypes.c_uint64 * max(1, len(self._given)))()
        self._result = ctypes.c_uint64()
        self._buffers: dict[int, Any] = {}  # ctypes' arrays of characters, of what pointers lead to
        self._formats: dict[int, str] = {}  # of their elements
        for place, (kind, given) in enumerate(zip(kernel.parameters, self._given, strict=True)):
            try:
                self._pass(place, kind.split()[0], given)
            except (TypeError, ValueError, OverflowError, struct.error) as error:
                expected = "None or a writable, contiguous buffer" if kind == "ptr" else kind
                where = f"argument {place + 1} of {kernel.signature}"
                words = f"{where}: expected {expected}, found {shown(given)} ({error})"
                raise unusable(kernel.harness.file, words) from None
        self._contents = {place: each.raw for place, each in self._buffers.items()}
        self._jit = binding.create_lljit_compiler(use_jit_link=True)
        caller = binding.JITLibraryBuilder().add_ir(_caller(kernel))
        self._libraries = [caller.export_symbol("optctx_calls").link(self._jit, "optctx")]
        pointer = ctypes.c_void_p
        form = ctypes.CFUNCTYPE(None, pointer, pointer, pointer, ctypes.c_uint64)
        self._caller: Callable[..., None] = form(self._libraries[0]["optctx_calls"])
        self._functions = {name: self._load(name, code) for name, code in objects.items()}

    def _load(self, name: str, code: bytes) -> int:
        """The address of the entry point. A library of its own for each object, so that names may repeat."""
        from llvmlite import binding

        entry = self._kernel.entry
        builder = binding.JITLibraryBuilder().add_object_img(code).add_current_process()
        try:
            self._libraries.append(builder.export_symbol(entry).link(self._jit, f"object {name}"))
        except RuntimeError as error:  # what is missing, it prints
            raise OptctxError(f"it cannot be loaded: {' '.join(str(error).split())}") from None
        address: int = self._libraries[-1][entry]
        return address

    def _pass(self, place: int, kind: str, given: Any) -> None:
        """Put an argument where the caller finds it: a number, or None or a writable, contiguous buffer.

        Raises as `struct` and ctypes do for another one.
        """
        if kind != "ptr":
            form = NUMBERS[kind]
            unsigned = form in "bhiq" and given >= 0
            struct.pack_into(form.upper() if unsigned else form, self._words, place * _WORD, given)
        elif given is not None:
            view = memoryview(given)
            self._formats[place] = view.format
            self._buffers[place] = (ctypes.c_char * view.nbytes).from_buffer(view)
            self._words[place] = ctypes.addressof(self._buffers[place])

    def restore_changed_only(self) -> None:
        """From now on, restore only what one call of the base changes."""
        self.call(BASE, 1)
        self._contents = {
            place: data for place, data in self._contents.items() if self._buffers[place].raw != data
        }

    def call(self, name: str, calls: int) -> float:
        """Restore the buffers, and call so many times. Return the seconds that the processor worked for it.

        By the clock of the thread: that of a process with a limit of processor time counts in ticks.
        """
        for place, data in self._contents.items():
            self._buffers[place].raw = data
        words, result = self._words, ctypes.byref(self._result)
        began = time.thread_time_ns()
        self._caller(self._functions[name], words, result, calls)
        return (time.thread_time_ns() - began) * 1e-9

    def calibrated(self) -> tuple[int, float]:
        """How many calls of the base make a sample, and the seconds of processor time that one takes."""
        repeat = self._kernel.harness.repeat
        calls = repeat or 1
        while True:
            taken = min(self.call(BASE, calls) for _ in range(2))
            if repeat or taken >= _SAMPLE or calls >= _MOST_CALLS:
                return calls, taken / calls
            calls = min(_MOST_CALLS, calls * max(2, min(16, int(_SAMPLE / max(taken, 1e-9)))))

    # What a call leaves

    def outputs(self, name: str) -> dict[int, bytes]:
        """The returned value, under -1, and what one call leaves in each buffer."""
        self._result.value = 0
        self.call(name, 1)
        return {-1: bytes(self._result), **{place: each.raw for place, each in self._buffers.items()}}

    def difference(self, expected: Mapping[int, bytes], found: Mapping[int, bytes]) -> str:
        """The first element that is not as expected, in words. A NaN equals any NaN."""
        harness = self._kernel.harness
        for place, data in expected.items():
            if data == found[place]:
                continue
            one, two = self._numbers(place, data), self._numbers(place, found[place])
            for index, (base, other) in enumerate(zip(one, two, strict=True)):
                if not _is_same(base, other, harness.relative, harness.absolute):
                    where = "the returned value" if place < 0 else f"element {index} of argument {place + 1}"
                    return f"{where} is {other!r}, and the base's {base!r}"
        return ""

    def _numbers(self, place: int, data: bytes) -> Any:
        if place < 0:
            form = NUMBERS.get(self._kernel.returned, "")
            return struct.unpack_from(form, data)
        try:
            form = self._formats[place].removeprefix("Z")  # a complex number is two
            return memoryview(data).cast(form)  # type: ignore[call-overload]
        except ValueError:  # records
            return memoryview(data)


def _is_same(one: float, two: float, relative: float, absolute: float) -> bool:
    """Whether it is the base's, or near enough. Without a tolerance every bit counts, but of a NaN."""
    if not isinstance(one, float):
        return one == two
    if math.isnan(one) or math.isnan(two):
        return math.isnan(one) and math.isnan(two)
    if one == two:
        return bool(relative or absolute) or math.copysign(1, one) == math.copysign(1, two)
    return math.isfinite(one - two) and abs(one - two) <= max(absolute, relative * abs(one))


def _caller(kernel: Kernel) -> str:
    """LLVM IR that calls functions of this signature."""
    loads, passed = [], []
    for place, parameter in enumerate(kernel.parameters):
        loads.append(f"  %p{place} = getelementptr i64, ptr %words, i64 {place}")
        loads.append(f"  %a{place} = load {parameter.split()[0]}, ptr %p{place}")
        passed.append(f"{parameter} %a{place}")
    call = f"call {kernel.returned} %function({', '.join(passed)})"
    if kernel.returned != "void":
        call = f"%r = {call}\n  store {kernel.returned} %r, ptr %result"
    return _CALLER.format(loads="\n".join(loads), call=call)
