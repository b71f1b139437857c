#include "bind/runs.hpp"

#include "machine/machines.hpp"
#include "view/orphans.hpp"
#include "view/scope.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace optctx::bind {
namespace {

constexpr std::string_view attribute_key = "optctx";
constexpr unsigned function_index = 0xFFFFFFFF;  // LLVMAttributeFunctionIndex

unsigned image = 0;
LlvmCalls llvm{};
Judge judge{};

// Runs of all threads, including those that have ended.
std::atomic<std::uint64_t> begun_everywhere{0};

// Whether function attributes count.
std::atomic<bool> attributes_count{false};

// LLVM's work on one module (or a function of it), from the outermost intercepted call on.
struct Run {
    const void* llvm_context;
    std::shared_ptr<const Binding> entered;  // null: the thread stays in its own scope
    // The texts of its functions, each once. An LLVMContext keeps each text at one address for its whole life.
    std::unordered_map<const char*, Resolved> attributes;
};

// What `optctx_after` undoes: a run, the scope of a function, or a call for a machine.
enum class Step : std::uint8_t { run, function, machine };

struct State {
    std::uint64_t begun = 0;
    std::vector<Run> runs;
    std::vector<Step> steps;
    std::vector<const void*> functions;  // those whose scopes are entered
    std::uint64_t unfinished = 0;        // argument 0 of the last skipped function that left it unfinished
    std::vector<std::shared_ptr<const Binding>> expected;  // for LLVMContexts to be constructed; the next is last
};

State& state() {
    thread_local State instance;
    return instance;
}

std::string_view attribute_of(void* function) {
    void* attribute =
        llvm.string_attribute(function, function_index, attribute_key.data(), unsigned{attribute_key.size()});
    if (attribute == nullptr) return {};
    unsigned size = 0;
    const char* text = llvm.string_attribute_value(attribute, &size);
    return {text, size};
}

// Returns false if the run is not allowed.
bool add_attribute(Run& run, std::string_view text, const char* triple) {
    if (text.empty() || run.attributes.contains(text.data())) return true;
    if (run.attributes.size() > most_attributes) return true;  // ignored; the judge has reported the one before
    Resolved resolved = judge.resolve(text, view::current_owner(image), run.attributes.size(), triple);
    if (resolved.answer == Resolved::Answer::refused) return false;
    run.attributes.emplace(text.data(), std::move(resolved));
    return true;
}

// `machine`: the machine that the module is emitted with, or null.
bool add_attributes(Run& run, Subject kind, void* subject, void* machine) {
    if (!attributes_count.load()) return true;
    void* module = kind == Subject::function ? llvm.function_module(subject) : subject;
    const std::unique_ptr<char, decltype(&std::free)> own(machine == nullptr ? nullptr : llvm.machine_triple(machine),
                                                          &std::free);
    const char* triple = own == nullptr ? llvm.module_triple(module) : own.get();
    if (kind == Subject::function) return add_attribute(run, attribute_of(subject), triple);
    for (void* function = llvm.first_function(subject); function != nullptr; function = llvm.next_function(function))
        if (!add_attribute(run, attribute_of(function), triple)) return false;
    return true;
}

// Returns false if entering fails. Must not throw: frames of LLVM and of the thunk are below.
bool enter(const std::shared_ptr<view::Context>& context, void* owner) {
    try {
        view::enter_borrowed(context, owner);
        return true;
    } catch (const std::exception& error) {
        judge.cannot_enter(owner, error.what());
        return false;
    }
}

void end(Run& run) {
    if (run.entered != nullptr) view::leave_borrowed();
    for (const auto& [text, resolved] : run.attributes)
        if (resolved.owner != nullptr) view::add_orphan(resolved.owner);
}

std::uint64_t machine_in_force(std::uint64_t address) noexcept {
    return reinterpret_cast<std::uint64_t>(machine::in_force(reinterpret_cast<void*>(address)));
}

// Returns false, with nothing changed, if the run is not allowed.
bool begin_run(State& now, const void* llvm_context, Subject kind, void* subject, void* machine) {
    Run run{llvm_context, nullptr, {}};
    if (std::shared_ptr<const Binding> binding = bound(llvm_context);
        binding != nullptr && view::current_context(image) != binding->context.get()) {
        if (binding->on_mismatch == OnMismatch::switch_over) {
            if (!enter(binding->context, binding->owner)) return false;
            run.entered = std::move(binding);
        } else if (!judge.may_run(binding->owner, view::current_owner(image),
                                  binding->on_mismatch == OnMismatch::error)) {
            return false;
        }
    }
    if (!add_attributes(run, kind, subject, machine)) {
        end(run);
        return false;
    }
    now.runs.push_back(std::move(run));
    now.steps.push_back(Step::run);
    ++now.begun;
    begun_everywhere.fetch_add(1, std::memory_order_relaxed);
    machine::begin_run();
    return true;
}

bool begin_function(State& now, void* function) {
    const Run& run = now.runs.back();
    if (run.attributes.empty()) return false;
    if (!now.functions.empty() && now.functions.back() == function) return false;  // a nested pass manager
    const auto found = run.attributes.find(attribute_of(function).data());
    if (found == run.attributes.end() || found->second.answer != Resolved::Answer::context) return false;
    if (!enter(found->second.context, found->second.owner)) return false;
    now.functions.push_back(function);
    now.steps.push_back(Step::function);
    return true;
}

void begin_machine(State& now, std::uint64_t& argument) {
    now.steps.push_back(Step::machine);
    machine::begin_run();
    argument = machine_in_force(argument);
}

std::uint64_t refuse(State& now, Skip skip, std::uint64_t* arguments) {
    // A pass manager is a vector of passes: three null pointers. LLVM only reads it.
    static std::array<std::uint64_t, 8> empty_manager{};
    switch (skip) {
        case Skip::never:
            return 0;
        case Skip::empty_manager:
            arguments[1] = reinterpret_cast<std::uint64_t>(empty_manager.data());
            return 0;
        case Skip::leave_unfinished:
            now.unfinished = arguments[0];
            [[fallthrough]];
        case Skip::return_zero:
            arguments[result_index] = 0;
            return skip_call;
        case Skip::fail_with_text:
            *reinterpret_cast<char**>(arguments[4]) = strdup("optctx: not compiled under these option values");
            arguments[result_index] = 1;
            return skip_call;
    }
    return 0;
}

void bind_next(State& now, const void* llvm_context) {
    if (now.expected.empty()) return;
    std::shared_ptr<const Binding> binding = std::move(now.expected.back());
    now.expected.pop_back();
    if (binding != nullptr) bind(llvm_context, std::move(binding));
}

}  // namespace

std::shared_ptr<const Binding> bound_to_module(const void* module) noexcept {
    return bound(llvm.module_context(const_cast<void*>(module)));
}

void expect_llvm_contexts(std::vector<std::shared_ptr<const Binding>> bindings) {
    std::reverse(bindings.begin(), bindings.end());
    state().expected = std::move(bindings);
}

std::vector<std::shared_ptr<const Binding>> expected_llvm_contexts() {
    const auto& expected = state().expected;
    return {expected.rbegin(), expected.rend()};
}

RunCounts run_counts() noexcept { return {begun_everywhere.load(std::memory_order_relaxed), state().begun}; }

void count_attributes(bool count) noexcept { attributes_count = count; }

void configure(unsigned index, const LlvmCalls& calls, const Judge& how) {
    image = index;
    llvm = calls;
    judge = how;
}

std::uint64_t optctx_before(std::uint32_t packed, std::uint64_t* arguments) {
    const auto kind = static_cast<Subject>(packed & 0xFF);
    auto* subject = reinterpret_cast<void*>(arguments[packed >> 8 & 0xFF]);
    if (kind == Subject::llvm_context_that_ends) {
        unbind(subject);
        return 0;
    }
    State& now = state();
    if (kind == Subject::llvm_context_that_begins) {
        bind_next(now, subject);
        return 0;
    }
    if (kind == Subject::machine) {
        begin_machine(now, arguments[packed >> 8 & 0xFF]);
        return 1;
    }
    const auto skip = static_cast<Skip>(packed >> 16);
    if (kind == Subject::unfinished) {
        const bool skipped = std::exchange(now.unfinished, 0) == arguments[0];
        return skipped ? refuse(now, skip, arguments) : 0;
    }
    now.unfinished = 0;
    void* module = kind == Subject::module ? subject : llvm.function_module(subject);
    if (module == nullptr) return 0;  // a function outside any module
    const void* llvm_context = llvm.module_context(module);
    const std::size_t before = now.steps.size();
    if (now.runs.empty() || now.runs.back().llvm_context != llvm_context)
        if (void* machine = skip == Skip::fail_with_text ? reinterpret_cast<void*>(arguments[0]) : nullptr;
            !begin_run(now, llvm_context, kind, subject, machine))
            return refuse(now, skip, arguments);
    if (kind == Subject::function) begin_function(now, subject);
    // Emission sets the module's data layout from the machine before it requests passes.
    if (skip == Skip::fail_with_text) arguments[0] = machine_in_force(arguments[0]);
    return now.steps.size() - before;
}

void optctx_after(std::uint64_t steps) {
    State& now = state();
    for (; steps > 0; --steps) {
        const Step step = now.steps.back();
        now.steps.pop_back();
        if (step == Step::machine) {
            machine::end_run();
        } else if (step == Step::function) {
            now.functions.pop_back();
            machine::leave_context();
            view::leave_borrowed();
        } else {
            machine::end_run();
            end(now.runs.back());
            now.runs.pop_back();
        }
    }
}

}  // namespace optctx::bind
