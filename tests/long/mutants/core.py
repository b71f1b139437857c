"""The core part of the tests, in the order in which it runs: the one place that says what belongs to it.

First what is quick and fails for most mistakes, then what takes seconds.
"""

from __future__ import annotations

__all__ = ["CORE"]

CORE = (
    "tests/optctx/context/test_scopes.py",
    "tests/optctx/context/test_process_wide.py",
    "tests/optctx/context/test_context.py",
    "tests/native/contexts/test_containment.py",
    "tests/native/contexts/test_registered_objects.py",
    "tests/optctx/cache/test_fingerprint.py",
    "tests/native/engines/test_turns.py",
    "tests/optctx/travelling/test_binding.py",
    "tests/optctx/context/test_deferred.py",
    "tests/optctx/hosts/test_pass_managers.py",
    "tests/optctx/context/test_inherited_contexts.py",
    "tests/optctx/context/test_gate_waits.py",
    "tests/optctx/context/test_crossed.py",
    "tests/optctx/travelling/test_function_attributes.py",
    "tests/optctx/travelling/test_outside.py",
    "tests/optctx/hosts/test_binding_lljit.py",
    "tests/optctx/reads/test_record.py",
    "tests/optctx/reads/test_unread.py",
    "tests/optctx/reads/test_record_threads.py",
    "tests/optctx/drifting/test_drift.py",
    "tests/optctx/drifting/test_watch.py",
    "tests/optctx/values/test_set_options.py",
    "tests/optctx/trust/test_trust.py",
    "tests/optctx/lowering/test_lowering.py",
    "tests/optctx/children/test_crowd.py",
    "tests/optctx/tasks/test_ways.py",
    "tests/optctx/context/test_wrap.py",
    "tests/native/lab/test_audit.py",
    "tests/promises/test_growth.py",
    "tests/promises/test_properties.py",
    "tests/promises/test_at_once.py",
    "tests/optctx/hosts/test_shared_machines.py",
    "tests/optctx/hosts/test_freeing.py",
    "tests/optctx/values/test_option_types.py",
    "tests/promises/test_programs.py",
    "tests/promises/test_named_images.py",
    "tests/native/intercept/test_contained.py",
    "tests/native/os/test_staying_alive.py",
    "tests/optctx/engine/test_exclusive_engine.py",
    "tests/optctx/image/test_several_images.py",
    "tests/optctx/reads/test_unread_properties.py",
    "tests/promises/test_conformance_sample.py",
    "tests/native/interface/test_cpp_lookups.py",
    "tests/native/interface/test_cpp_scopes.py",
    "tests/native/os/test_forks.py",
)
