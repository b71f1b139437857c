"""Importing optctx imports nothing; every name and module may be the first that is used; subinterpreters."""

from __future__ import annotations

from tests.support.processes import run_python

# What a program may do first. Each comes before anything has imported contexts or hosts.
FIRST = (
    "with optctx.record(): pass",
    "optctx.emit_object(binding.parse_assembly(''), MACHINE)",
)


def test_importing_the_package_imports_nothing_and_each_name_is_there() -> None:
    """Not even `typing`, which takes longer than the rest. Modules of the package are attributes, too."""
    assert (
        run_python("""
        import sys
        before = {*sys.modules}
        import optctx
        print(*sorted(name for name in {*sys.modules} - before if name.startswith(("optctx", "typing"))))
        assert {*optctx.__all__, "__version__"} <= {*dir(optctx)}
        assert issubclass(optctx.errors.EndedEarlyError, optctx.OptctxError)
        assert not [name for name in optctx.__all__ if type(getattr(optctx, name)) is type(sys)]
        print({"importlib.metadata", "pytest", "hypothesis", "optctx.lab"} & {*sys.modules})
    """)
        == "optctx optctx.importing\nset()\n"
    )


def test_every_use_can_be_the_first() -> None:
    """Scopes, and what is set inside them, are as they are after every other first use."""
    said = run_python(
        """
        import os, sys
        from llvmlite import binding
        from llvmlite.binding import ffi
        import optctx
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        MACHINE = binding.Target.from_default_triple().create_target_machine()
        assert not hasattr(optctx, "_loaded")
        for first in sys.argv[1:]:
            if not os.fork():
                exec(first)
                with optctx.OptionContext(unroll_count=2), optctx.contained():
                    binding.set_option("", "-unroll-count=3")
                    print(optctx.lookup("unroll-count"))
                print(optctx.registry()["unroll-count"].value)
                break
            os.wait()
    """,
        *FIRST,
    )
    assert said == "3\n0\n" * len(FIRST)


def test_a_subinterpreter_is_refused_before_and_after_the_main_interpreter_uses_optctx() -> None:
    run_python("""
        import sys, textwrap
        try:
            import _interpreters as interpreters
        except ImportError:
            import _xxsubinterpreters as interpreters
        run = getattr(interpreters, "exec", None) or interpreters.run_string

        TRY = '''
        import sys
        try:
            from optctx import OptionContext
        except ImportError as error:
            assert "subinterpreter" in str(error) and "main interpreter" in str(error), error
        else:
            raise AssertionError("imported")
        assert "optctx._native" not in sys.modules
        '''

        def try_in_another() -> None:
            made = interpreters.create()
            for _ in range(2):
                failed = run(made, textwrap.dedent(TRY))
                assert failed is None, failed
            interpreters.destroy(made)

        try_in_another()
        from optctx import OptionContext
        from tests.support.scopes import unrolled
        with OptionContext(unroll_count=3) as context:
            try_in_another()
            assert unrolled() == 3
        with context, OptionContext(unroll_count=4):
            assert unrolled() == 4
        assert unrolled() == 1
    """)
