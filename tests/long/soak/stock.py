"""llvmlite without optctx, in a process of its own.

python -m tests.long.soak.stock answers            prints what each option set gives, pickled
python -m tests.long.soak.stock soak THREADS SEED  compiles until its standard input closes
"""

from __future__ import annotations

import gc
import os
import pickle
import random
import sys
import threading

from llvmlite import binding

from tests.long.soak.inputs import MODULES, Key, by_llvmlite, initialise, keys

__all__: list[str] = []


def answers() -> None:
    initialise()
    found: dict[tuple[str, Key], str] = {}
    for key in keys():
        reading, writing = os.pipe()
        if not (pid := os.fork()):
            for argument in key:
                binding.set_option("", argument)
            with os.fdopen(writing, "wb") as file:
                pickle.dump({(name, key): by_llvmlite(name) for name in MODULES}, file)
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as file:
            found.update(pickle.load(file))
        os.waitpid(pid, 0)
    sys.stdout.buffer.write(pickle.dumps(found))


def soak(threads: int, seed: int) -> None:
    """Prints the number of compilations each second; the parent measures the memory."""
    initialise()
    done = [0] * threads
    ended = threading.Event()

    def work(number: int) -> None:
        rng = random.Random(f"{seed} {number}")
        while not ended.is_set():
            by_llvmlite(rng.choice(sorted(MODULES)))
            if rng.random() < 0.05:
                gc.collect()
            done[number] += 1

    workers = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(threads)]
    for each in workers:
        each.start()
    for _ in sys.stdin:
        print(sum(done), flush=True)
    ended.set()
    for each in workers:
        each.join()


if __name__ == "__main__":
    if sys.argv[1] == "answers":
        answers()
    else:
        soak(int(sys.argv[2]), int(sys.argv[3]))
    assert "optctx" not in sys.modules
