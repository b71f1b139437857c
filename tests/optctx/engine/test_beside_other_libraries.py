"""Attaching beside threads of everyday libraries, which block every signal."""

from __future__ import annotations

import textwrap

import pytest

from tests.support.installed import FREE_THREADED
from tests.support.processes import python_process, run_python

pytestmark = pytest.mark.redirected

# The state before: a thread that blocks SIGTRAP made attaching fail.
STARTS_THREADS = {
    "libzmq and faulthandler": """
        import atexit, faulthandler
        import zmq
        context = zmq.Context()
        atexit.register(context.destroy)
        socket = context.socket(zmq.PUSH)
        socket.bind("inproc://here")
        faulthandler.dump_traceback_later(600)
    """,
    "polars": """
        import polars
        assert polars.DataFrame({"a": [1, 2, 3]}).lazy().select(polars.col("a").sum()).collect().item() == 6
    """,
    "pyarrow": """
        import pyarrow.compute
        import pyarrow.dataset
        table = pyarrow.table({"a": list(range(100_000))})
        assert pyarrow.dataset.dataset(table).to_table().num_rows == 100_000
    """,
    "pandas": """
        import pandas
        assert pandas.Series(["a", "b"], dtype="string[pyarrow]").str.upper().tolist() == ["A", "B"]
    """,
}
USE = """
def use():
    import threading
    import optctx
    from tests.support.scopes import in_threads, unrolled

    barrier = threading.Barrier(2)

    def inside(value):
        with optctx.OptionContext({"unroll-count": value}):
            barrier.wait(60)
            assert unrolled() == value

    for round in range(3):
        with optctx.OptionContext({"unroll-count": 4}):
            assert unrolled() == 4
        in_threads([lambda: inside(2), lambda: inside(8)])
        assert unrolled() == 1 and optctx.info()["engine"] == "thread"
        optctx.detach()
"""
BLOCKS = """
def blocking(signal):
    import pathlib
    masks = []
    for status in pathlib.Path("/proc/self/task").glob("*/status"):
        [mask] = [line.split()[1] for line in status.read_text().splitlines() if line.startswith("SigBlk")]
        masks.append(int(mask, 16))
    return sum(mask >> (signal - 1) & 1 for mask in masks)
"""


# How many threads each starts for certain.
CERTAIN = {"libzmq and faulthandler": 3, "polars": 1}


@pytest.mark.parametrize(
    "library",
    [
        pytest.param(name, marks=pytest.mark.long if number else ())
        for number, name in enumerate(STARTS_THREADS)
    ],
)
def test_a_library_whose_threads_block_signals(library: str) -> None:
    if library == "polars" and FREE_THREADED:
        pytest.skip("needs polars, which has no wheel for a free-threaded Python")
    start = textwrap.dedent(STARTS_THREADS[library])
    run_python(
        f"{BLOCKS}\n{USE}\nimport warnings\nwarnings.simplefilter('default')\n{start}\n"
        f"import signal\nassert blocking(signal.SIGTRAP) >= {CERTAIN.get(library, 0)}\nuse()\n"
        "import faulthandler\nfaulthandler.cancel_dump_traceback_later()\n"
    )


@pytest.mark.long  # the kernel's threads are those of libzmq
def test_a_notebook_that_a_kernel_of_its_own_runs() -> None:
    # In a process of its own: nbclient's event loop and sockets are none of this one's.
    script = f"""
import nbclient, nbformat
cell = {USE + BLOCKS!r} + '''
import signal
assert blocking(signal.SIGTRAP)
use()
print("done")
'''
notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell)])
nbclient.NotebookClient(notebook, timeout=100, kernel_name="python3").execute()
print(notebook.cells[0].outputs[0]["text"], end="")
"""
    done = python_process("-W", "default", "-c", script)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stdout + done.stderr
