"""Mutations of native/, which are compiled."""

from __future__ import annotations

from tests.long.mutants.mutation import Mutation

__all__ = ["NATIVE"]

_VIEW = (
    Mutation(
        "outer-scope-lost",
        "leaving a nested scope shows the process's values, not those of the outer scope",
        "tests/optctx/context/test_scopes.py",
        "contexts::show(frame.image, frame.previous);\n        }",
        "contexts::show(frame.image, {views::identity_view(frame.image)});\n        }",
    ),
    Mutation(
        "one-view",
        "the first thread sees the values of every scope that another thread enters",
        "tests/optctx/context/test_scopes.py",
        "    current[image] = view;\n}\n\nSubstitute* substitute",
        "    static PerImage<View>& first = current;\n    first[image] = view;\n"
        "    current[image] = view;\n}\n\nSubstitute* substitute",
    ),
    Mutation(
        "written-stays",
        "what LLVM wrote inside a scope is still there at its next entry",
        "tests/native/contexts/test_containment.py",
        "            found.front().activation->reset();",
        "            (void)found;",
    ),
    Mutation(
        "gate-open-inside",
        "a thread that changes options for the whole process does not wait for threads inside",
        "tests/optctx/context/test_process_wide.py",
        "return s.phase == Phase::open && s.inside.load() == own;",
        "return (void)own, s.phase == Phase::open;",
    ),
    Mutation(
        "gate-open-outside",
        "threads enter while another one has changed options for the whole process",
        "tests/optctx/context/test_process_wide.py",
        "if (!s.closed.load() || closes > 0) {",
        "if (!s.closed.load() || closes > 0 || s.phase == Phase::in_force) {",
    ),
    Mutation(
        "gate-deadlock-allowed",
        "two threads inside that both change options for the whole process wait for each other",
        "tests/optctx/context/test_process_wide.py",
        "    if (depth > 0 && s.waiting_closers > 0)\n",
        "    if (depth > 0 && s.waiting_closers > 1)\n",
    ),
    Mutation(
        "gate-calls-nothing",
        "a thread that waits at the gate handles no signal and warns of no deadlock",
        "tests/optctx/context/test_gate_waits.py",
        "        call_out(lock, ticket);\n",
        "        if (ticket == 0 && s.waiting == 0) call_out(lock, ticket);\n",
    ),
    Mutation(
        "occurrences-stay",
        "an option that was changed for the whole process counts as given afterwards",
        "tests/optctx/context/test_process_wide.py",
        "    add(change.option + head_at, head_size);\n",
        "",
    ),
    Mutation(
        "fork-not-repaired",
        "nothing is repaired in a child of fork",
        "tests/native/os/test_forks.py",
        "const bool watches_forks = os::repair_after_fork(count_again);",
        "const auto watches_forks = &count_again;",
    ),
    Mutation(
        "fork-counts-parents",
        "a child of fork counts its parent's threads inside",
        "tests/native/os/test_forks.py",
        "    s.inside = depth > 0 ? 1 : 0;\n",
        "",
    ),
    Mutation(
        "thread-stays-inside",
        "a thread that ends inside scopes stays inside",
        "tests/optctx/context/test_scopes.py",
        "        while (!levels.empty()) abandon(take(std::prev(levels.end())));\n        abandon(",
        "        abandon(",
    ),
    Mutation(
        "left-before-undone",
        "a scope no longer counts before what it set for the whole process is undone",
        "tests/native/engines/test_turns.py",
        "        engines::engine_of(image).leave(at->frame, below(at), above(at));\n"
        "        if (counted) active_levels[image].fetch_sub(1, std::memory_order_release);\n",
        "        if (counted) active_levels[image].fetch_sub(1, std::memory_order_release);\n"
        "        engines::engine_of(image).leave(at->frame, below(at), above(at));\n",
    ),
    Mutation(
        "reader-unmarked",
        "one reader in 64 is never marked as having read",
        "tests/optctx/reads/test_unread_properties.py",
        "        marks_[reader].store(1, std::memory_order_relaxed);\n",
        "        if (reader % 64 != 0) marks_[reader].store(1, std::memory_order_relaxed);\n",
    ),
    Mutation(
        "reads-of-hidden",
        "what LLVM reads of a nested scope's own override counts for the outer scope's as well",
        "tests/native/intercept/test_contained.py",
        "hides.push_back(slots[reader.slot]);",
        "hides.push_back(slots[reader.slot] && false);",
    ),
    Mutation(
        "reads-not-cleared",
        "what LLVM read inside a scope still counts when it is judged the next time",
        "tests/optctx/reads/test_unread.py",
        "    reads_->clear();\n",
        "",
    ),
    Mutation(
        "reads-marked-once",
        "what LLVM reads inside a scope is marked at its first entry only",
        "tests/optctx/reads/test_unread.py",
        "    storage_->reset();\n"
        "    if (reads_ != nullptr) space_.layout()->poison(storage_->view(), reads_, nullptr);\n",
        "    storage_->reset();\n",
    ),
    Mutation(
        "inner-record-lost",
        "what a record() block inside another one has seen is missing from the outer one",
        "tests/optctx/reads/test_record.py",
        "    if (outer != nullptr) outer->add(*self);\n",
        "",
    ),
    Mutation(
        "deep-scope-lost",
        "a deeply nested scope that is seen again has the values of the first one of them",
        "tests/native/contexts/test_containment.py",
        "for (; next != away.differences.end() && next->at < before + count; ++next)",
        "for (; false; ++next)",
    ),
    Mutation(
        "string-not-shared",
        "a scope has no share of its strings, and LLVM frees them under their context",
        "tests/native/contexts/test_registered_objects.py",
        "        values::share_value(region, copy);\n        if (region.ownership == values::Ownership::set)",
        "        if (region.ownership == values::Ownership::set)",
    ),
    Mutation(
        "counts-stay",
        "an occurrence that LLVM counted inside a scope is still counted at its next entry",
        "tests/native/contexts/test_registered_objects.py",
        "        activation->counted();",
        "        (void)activation;",
    ),
    Mutation(
        "set-not-renewed",
        "what was put into a set of enumerators inside a scope is still there at its next entry",
        "tests/optctx/values/test_set_options.py",
        "        if (values::same_state(region, copy, pristine_sets_[i])) continue;\n"
        "        values::release_value",
        "        if (i < pristine_sets_.size()) continue;\n        values::release_value",
    ),
    Mutation(
        "turns-not-taken",
        "where threads take turns, they do not wait for their turn",
        "tests/native/engines/test_turns.py",
        "        state.moved.wait(lock, [&] { return state.serving == ticket && ready(); });",
        "        (void)ready;\n        state.moved.wait(lock, [&] { return state.serving == ticket; });",
    ),
    Mutation(
        "entry-leaks",
        "48 bytes are lost at each entry of a scope",
        "tests/promises/test_growth.py",
        "    stack.push(std::move(frame), Reason::scope, entry, entry.mark);",
        "    static void* volatile lost = nullptr;\n"
        "    lost = ::operator new(48);\n"
        "    stack.push(std::move(frame), Reason::scope, entry, entry.mark);",
    ),
)

# Of scopes that are nested so deeply that they share storage.
_DEEP = (
    Mutation(
        "deep-written-through",
        "what LLVM writes in a deeply nested scope stays in its context",
        "tests/native/contexts/test_containment.py",
        "view_.begin());\n    copy();\n",
        "view_.begin());\n",
    ),
    Mutation(
        "deep-reads-elsewhere",
        "what LLVM reads in a deeply nested scope that is seen again is marked for the one inside it",
        "tests/promises/test_programs.py",
        "    storage_->lead(&shown(), reads_);\n    deep().holder = this;",
        "    deep().holder = this;",
    ),
    Mutation(
        "deep-exposed-shared",
        "options that code has got by pointer in a deeply nested scope are those of the next one as well",
        "tests/native/contexts/test_registered_objects.py",
        "    away.exposed = std::move(exposed_);\n",
        "",
    ),
    Mutation(
        "deep-strings-shared",
        "a deeply nested scope keeps its share of each string when it ends",
        "tests/native/contexts/test_registered_objects.py",
        "            values::release_value(regions_[plan_.string_slots[i]], object(plan_.string_slots[i]));\n"
        "    for",
        "            (void)i;\n    for",
    ),
    Mutation(
        "deep-sets-leak",
        "each entry into a deeply nested scope loses its sets of enumerators",
        "tests/promises/test_growth.py",
        "for (const std::uint32_t slot : plan_.sets) values::release_value(regions_[slot], object(slot));",
        "",
    ),
)

_CONTAIN = (
    Mutation(
        "contained-leaks",
        "what LLVM's setters are given inside a scope is set for the whole process as well",
        "tests/native/intercept/test_contained.py",
        "    return Outcome::contained;\n}\n\n// Returns the context",
        "    return Outcome::process;\n}\n\n// Returns the context",
    ),
    Mutation(
        "sets-error-sets",
        'sets="error" reports what LLVM\'s setters were given, and sets it all the same',
        "tests/native/intercept/test_contained.py",
        "        reporter.not_set(image, option);\n        return Outcome::nothing;",
        "        reporter.not_set(image, option);\n        return Outcome::process;",
    ),
    Mutation(
        "not-contained-untold",
        "an option that no scope can contain is set for the whole process without a warning",
        "tests/native/intercept/test_contained.py",
        "if (changes == nullptr || !changes->changes(option)) reporter.not_contained(image, option);",
        "(void)changes;",
    ),
    Mutation(
        "given-forgotten",
        "what a setter was given inside a scope does not count for the next setter of the same option",
        "tests/native/intercept/test_contained.py",
        "    Given given = activation.given();\n",
        "    Given given;\n",
    ),
    Mutation(
        "parsers-meet",
        "two threads inside scopes are in LLVM's command line parser at once",
        "tests/native/intercept/test_contained.py",
        "    const os::Keys key{function};\n",
        "    const os::Keys key;\n",
    ),
)

_CPP = (
    Mutation(
        "cpp-scope-left-elsewhere",
        "a scope of C++ code is given up silently when another thread leaves it",
        "tests/native/interface/test_cpp_scopes.py",
        "if (!is_of_this_thread(ticket)) return Left::on_another_thread;",
        "if (!is_of_this_thread(ticket)) return Left::left;",
    ),
    Mutation(
        "cpp-scope-never-ends",
        "a scope of C++ code that another thread destroys stays in force on its own",
        "tests/native/interface/test_cpp_scopes.py",
        "    abandon_on_its_thread(ticket, [](Ticket own) noexcept {",
        "    if (is_of_this_thread(ticket)) abandon_on_its_thread(ticket, [](Ticket own) noexcept {",
    ),
    Mutation(
        "cpp-scope-waits-with-gil",
        "a scope of C++ code waits for a thread that needs the GIL, and holds it nearly all the time",
        "tests/native/interface/test_cpp_scopes.py",
        "    if (python_lives() && has_gil())\n        wait_without_gil(wait);",
        "    if (!python_lives() && has_gil())\n        wait_without_gil(wait);",
    ),
)
_BIND = (
    Mutation(
        "on-mismatch-ignored",
        'on_mismatch="error" and "warn" switch as "switch" does',
        "tests/optctx/travelling/test_binding.py",
        "        if (binding->on_mismatch == OnMismatch::switch_over) {",
        "        if (binding->on_mismatch >= OnMismatch{}) {",
    ),
    Mutation(
        "binding-outlives",
        "an LLVMContext has the binding of an earlier one that was at its address",
        "tests/optctx/travelling/test_binding.py",
        "        unbind(image, subject);\n        return 0;",
        "        return 0;",
    ),
    Mutation(
        "first-attribute-only",
        "of the functions of a module only the first one's attribute counts",
        "tests/optctx/travelling/test_function_attributes.py",
        "function != nullptr; function = llvm.next_function(function))",
        "function != nullptr; function = nullptr)",
    ),
    Mutation(
        "refused-attribute-runs",
        "a module with a refused attribute is compiled all the same",
        "tests/optctx/travelling/test_function_attributes.py",
        "    if (resolved.answer == Resolved::Answer::refused) return false;\n",
        "",
    ),
    Mutation(
        "attribute-outside-scope",
        "an attribute lies on top of the process's values, not on those of the thread's scope",
        "tests/optctx/travelling/test_function_attributes.py",
        "text, scopes::current_owner(run.image), known",
        "text, nullptr, known",
    ),
    Mutation(
        "outside-rule-changes-in-a-run",
        "the rule for compilations outside every scope changes while one goes on",
        "tests/optctx/travelling/test_outside.py",
        "    if (runs_in(word) != 0) return runs_in(word);\n    if (rule ==",
        "    if (rule ==",
    ),
    Mutation(
        "outside-counts-parents",
        "a child of fork counts its parent's compilations outside every scope",
        "tests/optctx/travelling/test_outside.py",
        "count_outside_again(image, static_cast<std::size_t>(runs));",
        "static_cast<void>(runs);",
    ),
    Mutation(
        "outside-error-runs",
        'outside="error" names a compilation outside every scope, and runs it',
        "tests/optctx/travelling/test_outside.py",
        "permitted = images[image].judge.may_run_outside(image, rule == Outside::error);",
        "permitted = images[image].judge.may_run_outside(image, rule == Outside::error) || true;",
    ),
    Mutation(
        "outside-bound-refused",
        'outside="error" refuses what is bound to values that hold outside every scope',
        "tests/optctx/travelling/test_outside.py",
        "!begin_work_outside(now, image, bound(image, llvm_context) != nullptr))\n        return false;\n"
        "    if (!add_attributes",
        "!begin_work_outside(now, image, false))\n        return false;\n    if (!add_attributes",
    ),
    Mutation(
        "unbound-mismatch",
        "a run that on_mismatch refuses is not stopped",
        "tests/optctx/travelling/test_binding.py",
        "case Skip::return_zero:\n            arguments[result_index] = 0;\n            return skip_call;",
        "case Skip::return_zero:\n            return 0;",
    ),
)

_MACHINE = (
    Mutation(
        "machine-of-another-context",
        "LLVM works with a target machine that was made for another scope of the same run",
        "tests/optctx/hosts/test_shared_machines.py",
        "        if (each.original == original && each.context.get() == context) return each.machine;",
        "        if (each.original == original) return each.machine;",
    ),
    Mutation(
        "machine-by-result",
        "the door takes the first argument for the machine, also where that is room for a result",
        "tests/optctx/hosts/test_shared_machines.py",
        "machine::before(image, static_cast<machine::Use>(detail), argument, arguments);",
        "machine::before(image, static_cast<machine::Use>(detail), 0, arguments);",
    ),
    Mutation(
        "machine-level-lowered",
        "a target machine for a scope has the level to which LLVM lowers it for a function on another thread",
        "tests/optctx/hosts/test_shared_machines.py",
        "    if (!known.level) known.level = now;",
        "    known.level = now;",
    ),
    Mutation(
        "machine-never-made",
        "a target machine keeps the values of the scope that it was made in, wherever it is used",
        "tests/optctx/hosts/test_shared_machines.py",
        "    return found == known_.end() ? key == outside : found->second.key == key;",
        "    return found == known_.end() || found->second.key == key || !key.empty();",
    ),
    Mutation(
        "written-machine-kept",
        "a target machine that was made under values that LLVM was given inside is used by later runs",
        "tests/optctx/hosts/test_shared_machines.py",
        "        if (each.context.get() == context) each.kept = false;",
        "        if (each.context.get() == context) each.kept = each.kept;",
    ),
)

NATIVE = _VIEW + _DEEP + _CONTAIN + _CPP + _BIND + _MACHINE
