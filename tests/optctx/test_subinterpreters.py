"""A subinterpreter cannot use optctx, and the main interpreter does not notice that it tried."""

from __future__ import annotations

from tests.support.processes import run_python


def test_it_is_refused_before_and_after_the_main_interpreter_uses_optctx() -> None:
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
