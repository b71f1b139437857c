"""Mutations of optctx/, which need no build."""

from __future__ import annotations

from tests.long.mutants.mutation import Mutation

__all__ = ["PYTHON"]

_CONTEXT = (
    Mutation(
        "pickle-loses-process",
        "a pickled context loses what it inherits from the process",
        "tests/optctx/context/test_context.py",
        "        inherited = {**self._drifted_texts(), **_portable(self.inherited)}\n",
        "        inherited = _portable(self.inherited)\n",
    ),
    Mutation(
        "inherited-wins",
        "an inherited value hides the override of the same option on top of it",
        "tests/optctx/context/test_context.py",
        "        return {**self.inherited, **self.own}\n",
        "        return {**self.own, **self.inherited}\n",
    ),
    Mutation(
        "defaults-drift",
        'base="defaults" has what was set for the whole process',
        "tests/optctx/context/test_scopes.py",
        "        return cls(engine, engine.space.no_drift(), {}, {})\n",
        "        return cls(engine, engine.space.drift(), {}, {})\n",
    ),
    Mutation(
        "image-ignored",
        "a context for a named image is one for llvmlite's",
        "tests/promises/test_named_images.py",
        "        return attach(image)\n    if image is not None",
        "        return attach()\n    if image is not None",
    ),
    Mutation(
        "contained-shares",
        "where threads take turns, contained() shares what is set inside with the scope around it",
        "tests/native/engines/test_turns.py",
        "    context._layers.native.keep_apart()\n",
        "",
    ),
    Mutation(
        "choices-twice",
        "one choice of an option does not take the place of another one",
        "tests/optctx/context/test_context.py",
        "    return {override.option.name: override for override in made}\n",
        "    return {override.name: override for override in made}\n",
    ),
    Mutation(
        "equal-though-given",
        "contexts are equal of which only one gives an option, with its registered value",
        "tests/optctx/context/test_context.py",
        "        return State(value, _native.option_at(self.native.address(option.slot)).occurrences)",
        "        return State(value, 0)",
    ),
    Mutation(
        "derive-forgets-unread",
        "a derived context judges no unread overrides",
        "tests/optctx/reads/test_unread.py",
        "        mode = self._unread if unread is None else unread\n",
        '        mode = "ignore" if unread is None else unread\n',
    ),
    Mutation(
        "recipe-of-other-values",
        "a pass manager that was made elsewhere runs as it is, whatever values it was made under",
        "tests/optctx/hosts/test_pass_managers.py",
        "        if recipe.values == self._values and not self._anew:",
        "        if not self._anew:",
    ),
    Mutation(
        "recipe-not-mixed",
        "a pass manager that was changed under other values counts as made under the first ones",
        "tests/optctx/hosts/test_pass_managers.py",
        "    if recipe.values != values:\n        recipe.values = MIXED\n",
        "",
    ),
    Mutation(
        "deferred-accepted",
        "a generator function is put inside a context, though its body runs outside",
        "tests/optctx/context/test_deferred.py",
        "_LATER = 0x20 | 0x80 | 0x200",
        "_LATER = 0x80 | 0x200",
    ),
    Mutation(
        "deferred-returned",
        "a function inside a context returns a body that then runs outside",
        "tests/optctx/context/test_deferred.py",
        "    if isinstance(result, _DEFERRED) and _has_not_begun(result):",
        "    if isinstance(result, _MANAGERS) and _has_not_begun(result):",
    ),
    Mutation(
        "deadlock-untold",
        "no warning tells of a deadlock with a thread inside a process-wide context",
        "tests/optctx/context/test_gate_waits.py",
        "        if now - since > _PATIENCE and place not in _wait.told:",
        "        if now - since > 100 * _PATIENCE and place not in _wait.told:",
    ),
    Mutation(
        "problem-swallowed",
        "an error that is found inside LLVM is not raised by the call that ran it",
        "tests/optctx/travelling/test_binding.py",
        "            raise problem\n",
        "            del problem\n",
    ),
    Mutation(
        "outside-looks-allowed",
        "lookups give the process-wide values although LLVM reads the registered ones outside every scope",
        "tests/optctx/travelling/test_outside.py",
        "if _native.outside_rule(engine.index) == _native.Outside.defaults:",
        "if _native.outside_rule(engine.index) == _native.Outside.error:",
    ),
    Mutation(
        "attribute-untrusted",
        "attributes of functions set options that the program does not trust modules with",
        "tests/optctx/trust/test_trust.py",
        "if option.name in self.names or judged.trust in self.classes:",
        "if option.name:",
    ),
    Mutation(
        "attribute-value-untrusted",
        "attributes of functions set values over which LLVM may end the process",
        "tests/optctx/trust/test_trust.py",
        "    trust.check_value(option, name, override.value())\n",
        "",
    ),
    Mutation(
        "unread-hides-error",
        "an unread override hides the error that a block has failed with",
        "tests/optctx/reads/test_unread.py",
        '    if mode == "error" and not failed:',
        '    if mode == "error":',
    ),
    Mutation(
        "reset-keeps-own",
        "after a reset of all options inside a scope, with_sets() still has the scope's overrides",
        "tests/native/intercept/test_contained.py",
        "        layers = Layers(engine, engine.space.no_drift(), kept, {})\n",
        "        layers = Layers(engine, engine.space.no_drift(), kept, layers.own)\n",
    ),
    Mutation(
        "cpp-scope-not-inherited",
        "a context that is made inside a scope of C++ code starts from the values around that",
        "tests/native/interface/test_cpp_scopes.py",
        "        if (scope := thread_scope(engine)) is not None:",
        "        if (scope := thread_scope(engine)) is not None and context is None:",
    ),
)

_RECORDS = (
    Mutation(
        "fingerprint-of-unread",
        "a fingerprint changes with an option that was not read",
        "tests/optctx/cache/test_fingerprint.py",
        "sorted(changed.keys() & {option.name for option in read})",
        "sorted(changed.keys())",
    ),
    Mutation(
        "fingerprint-not-process-wide",
        "a fingerprint does not change with what a context changes for the whole process",
        "tests/optctx/cache/test_fingerprint.py",
        '    return [*texts, ("", process_wide)] if process_wide else texts',
        "    return texts",
    ),
    Mutation(
        "record-misses-drift",
        "a record does not tell that an option was set for the whole process inside its block",
        "tests/optctx/cache/test_fingerprint.py",
        "        drifts = [self._drift] if now.is_same(self._drift) else [self._drift, now]",
        "        drifts = [self._drift]",
    ),
    Mutation(
        "record-read-elsewhere",
        "another thread sees the log of a block that has not ended",
        "tests/optctx/reads/test_record_threads.py",
        "        if threading.get_ident() != self._thread:",
        "        if self._thread == 0:",
    ),
)

_DRIFTING = (
    Mutation(
        "drift-overlooked",
        "drift() overlooks options that contexts have no storage for",
        "tests/optctx/drifting/test_drift.py",
        "    states.update(states_outside(engine))\n",
        "",
    ),
    Mutation(
        "watch-not-ended",
        "a watcher that was closed goes on reporting",
        "tests/optctx/drifting/test_watch.py",
        "        if remove_watcher(self):\n",
        "        if not self.closed:\n",
    ),
    Mutation(
        "watch-of-contained",
        "a watcher reports what is set inside a scope that contains it",
        "tests/native/intercept/test_contained.py",
        "isinstance(each, Watcher) and each._contained)",
        "isinstance(each, Watcher))",
    ),
)

_IMAGE = (
    Mutation(
        "tuning-settings-lost",
        "tuning options that are made again lose what the program has set in them",
        "tests/optctx/hosts/test_pass_managers.py",
        "(field, get(pointer)) for field, (get, default)",
        "(field, default) for field, (get, default)",
    ),
    Mutation(
        "freed-twice",
        "an LLVMContext that is closed before its modules is disposed of at once",
        "tests/optctx/hosts/test_freeing.py",
        "            lifetime.close()\n",
        "            original(self)\n",
    ),
    Mutation(
        "set-without-sign",
        "an override of a set is written for LLVM without its signs",
        "tests/optctx/values/test_set_options.py",
        'f"+{item}" if item in known else item',
        'f"-{item}" if item in known else item',
    ),
    Mutation(
        "choice-by-place",
        "a choice is told by its place in the list instead of the number that it stores",
        "tests/promises/test_properties.py",
        "zip(reversed(stored), reversed(names), strict=True)",
        "zip(reversed(range(len(stored))), reversed(names), strict=True)",
    ),
)

_ENGINE = (
    Mutation(
        "instructions-overlooked",
        "one in a thousand instructions that read options is overlooked",
        "tests/native/lab/test_audit.py",
        "    sites = found.sites\n",
        "    sites = found.sites.where(lambda site: (site.address - image.base) % 1000 != 0)\n",
    ),
    Mutation(
        "instructions-not-redirected",
        "eight instructions that read options are known, and not redirected",
        "tests/native/lab/test_audit.py",
        "sites.packed, words.tobytes(), loads, thread",
        "sites.packed[:-256], words[:-8].tobytes(), loads[:-8], thread",
    ),
    Mutation(
        "fallback-published",
        "lookups from C++ have the slots of the engine that could not be had, after a fallback",
        "tests/native/interface/test_cpp_lookups.py",
        "            engine = found.engine = fall_back(error, engine.survey, clock)\n",
        "            engine.registered.publish(engine.space)\n"
        "            engine = found.engine = fall_back(error, engine.survey, clock)\n",
    ),
    Mutation(
        "start-not-intercepted",
        "LLVM's parser works for the process inside a scope, as if nothing stood in front of it",
        "tests/native/intercept/test_contained.py",
        "Transaction([*hooks.calls, *hooks.starts],",
        "Transaction([*hooks.calls],",
    ),
    Mutation(
        "detached-while-bound",
        "detaching says nothing where contexts are bound",
        "tests/optctx/travelling/test_binding.py",
        "    if users.bindings:\n",
        "    if users.bindings > 1:\n",
    ),
    Mutation(
        "unread-by-target",
        "what no code of a target has read is said to be read by a pass that did not run",
        "tests/optctx/reads/test_unread.py",
        "    if own is not None and all(target == own for target in targets) and not _ran(own, ran):",
        "    if own is not None and all(target != own for target in targets) and not _ran(own, ran):",
    ),
)

_BESIDE = (
    Mutation(
        "written-one-by-one",
        "an exception leaves a module with some of what was to be written into it",
        "tests/optctx/lowering/test_lowering.py",
        "    call_all([[_word(each) for each in (function, *arguments)] for function, arguments in writes])",
        "    for function, arguments in writes:\n"
        "        call_all([[_word(each) for each in (function, *arguments)]])",
    ),
    Mutation(
        "late-call-takes-others",
        "a call that takes too long ends those on the other threads of its process",
        "tests/optctx/children/test_crowd.py",
        "            if child is not self._open and not in_time:\n",
        "            if child is not self._open:\n",
    ),
)

PYTHON = _CONTEXT + _RECORDS + _DRIFTING + _IMAGE + _ENGINE + _BESIDE
