#include "intercept/runs.hpp"

#include "intercept/interception.hpp"
#include "intercept/machines.hpp"
#include "intercept/outside.hpp"
#include "intercept/setters.hpp"
#include "os/fork_locks.hpp"
#include "scopes/orphans.hpp"
#include "scopes/scope.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <unordered_map>
#include <utility>

namespace optctx::bind {
namespace {

using intercept::result_index;
using intercept::skip_call;

constexpr std::string_view attribute_key = "optctx";
constexpr unsigned function_index = 0xFFFFFFFF;  // LLVMAttributeFunctionIndex

struct Image {
    LlvmCalls llvm{};
    std::atomic<bool> attributes_count{false};  // whether function attributes count
};

views::PerImage<Image> images{};

// An image's work on one module (or a function of it), from the outermost intercepted call on.
struct Run {
    unsigned image;
    const void* llvm_context;
    std::shared_ptr<const Binding> entered;  // null: the thread stays in its own scope
    // The texts of its functions, each once, or null if there is none. An LLVMContext keeps each text at one address
    // for its whole life.
    std::unique_ptr<std::unordered_map<const char*, Resolved>> attributes;
};

// What `after` undoes: a run, the scope of a function, a call for a machine, or work outside every scope and the
// registered values that it reads.
struct Step {
    enum class Kind : std::uint8_t { run, function, machine, outside, defaults };
    Kind kind;
    std::uint8_t image;
};

// The bindings of LLVMContexts that are to be constructed, the next one last, or null.
struct Expected {
    unsigned image;
    std::vector<std::shared_ptr<const Binding>> bindings;
};

// Of a thread. A run of one image can be inside a run of another one, so both are in the same lists.
struct RunState {
    std::vector<Run> runs;
    std::vector<Step> steps;
    std::vector<const void*> functions;  // those whose scopes are entered
    std::uint64_t unfinished = 0;        // argument 0 of the last skipped function that left it unfinished
    std::vector<Expected> expected;      // the last one of an image counts
};

RunState& state() {
    thread_local RunState instance;
    return instance;
}

// Runs in the child of a fork, where only this thread's work goes on.
void count_work_again() noexcept {
    for (unsigned image = 0; image < views::max_images; ++image) {
        const auto& steps = state().steps;
        const auto runs = std::count_if(steps.begin(), steps.end(), [image](const Step& step) {
            return step.image == image && (step.kind == Step::Kind::outside || step.kind == Step::Kind::defaults);
        });
        count_outside_again(image, static_cast<std::size_t>(runs));
    }
}

[[maybe_unused]] const bool watches_forks = os::repair_after_fork(count_work_again);

// Makes room for all that one function begins, so that nothing which has begun can fail to be noted.
void make_room(RunState& now) {
    now.steps.reserve(now.steps.size() + 3);
    now.runs.reserve(now.runs.size() + 1);
    now.functions.reserve(now.functions.size() + 1);
}

std::string_view attribute_of(const LlvmCalls& llvm, void* function) {
    void* attribute =
        llvm.string_attribute(function, function_index, attribute_key.data(), unsigned{attribute_key.size()});
    if (attribute == nullptr) return {};
    unsigned size = 0;
    const char* text = llvm.string_attribute_value(attribute, &size);
    return {text, size};
}

// Returns false if the run is not allowed.
bool add_attribute(Run& run, std::string_view text, const char* triple) {
    if (text.empty()) return true;
    if (run.attributes == nullptr) run.attributes = std::make_unique<std::unordered_map<const char*, Resolved>>();
    auto& known = *run.attributes;
    if (known.contains(text.data())) return true;
    if (known.size() > most_attributes) return true;  // ignored; the judge has reported the one before
    Resolved resolved = judge.resolve(run.image, text, scopes::seen(run.image).owner, known.size(), triple);
    if (resolved.answer == Resolved::Answer::refused) return false;
    known.emplace(text.data(), std::move(resolved));
    return true;
}

// `machine`: the machine that the module is emitted with, or null.
bool add_attributes(Run& run, Subject kind, void* subject, void* machine) {
    const auto& [llvm, attributes_count] = images[run.image];
    if (!attributes_count.load()) return true;
    void* module = kind == Subject::function ? llvm.function_module(subject) : subject;
    const std::unique_ptr<char, decltype(&std::free)> own(machine == nullptr ? nullptr : llvm.machine_triple(machine),
                                                          &std::free);
    const char* triple = own == nullptr ? llvm.module_triple(module) : own.get();
    if (kind == Subject::function) return add_attribute(run, attribute_of(llvm, subject), triple);
    for (void* function = llvm.first_function(subject); function != nullptr; function = llvm.next_function(function))
        if (!add_attribute(run, attribute_of(llvm, function), triple)) return false;
    return true;
}

// Returns false if entering fails. Must not throw: frames of LLVM and of the thunk are below.
bool enter(const std::shared_ptr<contexts::Context>& context, void* owner, const void* work = nullptr) {
    try {
        scopes::show_instead(context, owner, work);
        return true;
    } catch (const std::exception& error) {
        judge.cannot_enter(owner, error.what());
        return false;
    }
}

void end(Run& run) {
    if (run.entered != nullptr) scopes::end_instead();
    if (run.attributes == nullptr) return;
    for (const auto& [text, resolved] : *run.attributes) {
        scopes::end_work(&resolved);
        if (resolved.owner != nullptr) scopes::add_orphan(resolved.owner);
    }
}

bool works_outside(const RunState& now, unsigned image) noexcept {
    return std::any_of(now.steps.begin(), now.steps.end(),
                       [image](const Step& step) { return step.kind == Step::Kind::outside && step.image == image; });
}

// Begins work outside every scope. `permitted`: it needs no permission. Returns false, with nothing changed, if the
// rule forbids it.
bool begin_work_outside(RunState& now, unsigned image, bool permitted) {
    permitted = permitted || works_outside(now, image);
    const Outside rule = begin_outside(image);
    now.steps.push_back({Step::Kind::outside, static_cast<std::uint8_t>(image)});
    if (rule == Outside::defaults) {
        const Binding& defaults = defaults_inside(image);
        permitted = enter(defaults.context, defaults.owner);
        if (permitted) now.steps.back().kind = Step::Kind::defaults;
    } else if (rule != Outside::allow && !permitted) {
        permitted = judge.may_run_outside(image, rule == Outside::error);
    } else {
        permitted = true;
    }
    if (!permitted) after(1);
    return permitted;
}

// Returns false, with nothing changed, if the run is not allowed.
bool begin_run(RunState& now, unsigned image, const void* llvm_context, Subject kind, void* subject, void* machine) {
    Run run{image, llvm_context, nullptr, nullptr};
    if (std::shared_ptr<const Binding> binding = bound(image, llvm_context);
        binding != nullptr && scopes::current_context(image) != binding->context.get()) {
        if (binding->on_mismatch == OnMismatch::switch_over) {
            if (!enter(binding->context, binding->owner)) return false;
            run.entered = std::move(binding);
        } else if (!judge.may_run(binding->owner, scopes::seen(image).owner,
                                  binding->on_mismatch == OnMismatch::error)) {
            return false;
        }
    }
    const std::size_t steps_before = now.steps.size();
    if (views::shows_globals(image) && !begin_work_outside(now, image, bound(image, llvm_context) != nullptr))
        return false;
    bool permitted = false;
    try {
        permitted = add_attributes(run, kind, subject, machine);
    } catch (const std::exception& error) {
        contain::reporter.failed(image, error.what());
    }
    if (!permitted) {
        end(run);
        after(now.steps.size() - steps_before);
        return false;
    }
    now.runs.push_back(std::move(run));
    now.steps.push_back({Step::Kind::run, static_cast<std::uint8_t>(image)});
    machine::begin_run(image);
    return true;
}

// Enters the scope of the function, if it has one.
void begin_function(RunState& now, void* function) {
    const Run& run = now.runs.back();
    if (run.attributes == nullptr) return;
    if (!now.functions.empty() && now.functions.back() == function) return;  // a nested pass manager
    const auto found = run.attributes->find(attribute_of(images[run.image].llvm, function).data());
    if (found == run.attributes->end() || found->second.answer != Resolved::Answer::context) return;
    // What LLVM writes while it makes the subtarget of such functions holds for all of them, in every pass.
    if (!enter(found->second.context, found->second.owner, &found->second)) return;
    now.functions.push_back(function);
    now.steps.push_back({Step::Kind::function, static_cast<std::uint8_t>(run.image)});
}

// Begins a run, unless the thread is in one on the same LLVMContext, and enters the scope of a function. Returns false,
// with nothing changed, if the run is not allowed.
bool begin_work(RunState& now, unsigned image, Subject kind, void* subject, void* machine) {
    make_room(now);
    const LlvmCalls& llvm = images[image].llvm;
    const void* llvm_context = llvm.module_context(kind == Subject::module ? subject : llvm.function_module(subject));
    if (now.runs.empty() || now.runs.back().llvm_context != llvm_context)
        if (!begin_run(now, image, llvm_context, kind, subject, machine)) return false;
    if (kind == Subject::function) begin_function(now, subject);
    return true;
}

// Making a data layout compiles nothing, so it needs no permission.
void begin_machine(RunState& now, unsigned image, std::uint8_t argument, std::uint64_t* arguments) {
    make_room(now);
    if (views::shows_globals(image)) begin_work_outside(now, image, true);
    now.steps.push_back({Step::Kind::machine, static_cast<std::uint8_t>(image)});
    machine::begin_run(image);
    machine::before(image, machine::Use::work, argument, arguments);
}

std::uint64_t refuse(RunState& now, Skip skip, std::uint64_t* arguments) {
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

void bind_next(std::vector<Expected>& expected, unsigned image, const void* llvm_context) {
    const auto own =
        std::find_if(expected.rbegin(), expected.rend(), [image](const Expected& each) { return each.image == image; });
    if (own == expected.rend() || own->bindings.empty()) return;
    std::shared_ptr<const Binding> binding = std::move(own->bindings.back());
    own->bindings.pop_back();
    if (binding != nullptr) bind(llvm_context, std::move(binding));
}

}  // namespace

std::shared_ptr<const Binding> bound_to_module(unsigned image, const void* module) noexcept {
    return bound(image, images[image].llvm.module_context(const_cast<void*>(module)));
}

Expecting::Expecting(unsigned image, std::vector<std::shared_ptr<const Binding>> bindings) {
    std::reverse(bindings.begin(), bindings.end());
    state().expected.push_back({image, std::move(bindings)});
}

Expecting::~Expecting() { state().expected.pop_back(); }

void count_attributes(unsigned image, bool count) noexcept { images[image].attributes_count = count; }

std::uintptr_t attributes_switch(unsigned image) noexcept {
    static_assert(sizeof(std::atomic<bool>) == 1);
    return reinterpret_cast<std::uintptr_t>(&images[image].attributes_count);
}

void configure(unsigned image, const LlvmCalls& calls) { images[image].llvm = calls; }

Early::Early(unsigned image, Subject kind, void* subject) {
    const LlvmCalls& llvm = images[image].llvm;
    if (llvm.module_context == nullptr) return;
    if (kind == Subject::function && llvm.function_module(subject) == nullptr) return;
    RunState& now = state();
    const std::size_t steps_before = now.steps.size();
    allowed_ = begin_work(now, image, kind, subject, nullptr);
    steps_ = now.steps.size() - steps_before;
}

Early::Early(unsigned image, const void* llvm_context) {
    if (!views::shows_globals(image)) return;
    RunState& now = state();
    make_room(now);
    const std::size_t steps_before = now.steps.size();
    allowed_ = begin_work_outside(now, image, bound(image, llvm_context) != nullptr);
    steps_ = now.steps.size() - steps_before;
}

Early::~Early() { after(steps_); }

std::uint64_t before(unsigned image, Subject kind, Skip skip, std::uint8_t argument, std::uint64_t* arguments) {
    auto* subject = reinterpret_cast<void*>(arguments[argument]);
    if (kind == Subject::llvm_context_that_ends) {
        unbind(image, subject);
        return 0;
    }
    if (kind == Subject::contents_that_end) {
        unbind_by_contents(image, subject);
        return 0;
    }
    RunState& now = state();
    const std::size_t steps_before = now.steps.size();
    if (kind == Subject::llvm_context_that_begins) {
        bind_next(now.expected, image, subject);
        return 0;
    }
    if (kind == Subject::machine) {
        begin_machine(now, image, argument, arguments);
        return now.steps.size() - steps_before;
    }
    const std::uint64_t unfinished = std::exchange(now.unfinished, 0);
    if (kind == Subject::unfinished) return unfinished == arguments[0] ? refuse(now, skip, arguments) : 0;
    // A single pass runs inside the run of its pass manager, which has looked at the LLVMContext and at the attributes.
    if (skip == Skip::never && kind == Subject::function && !now.runs.empty() && now.runs.back().image == image &&
        now.runs.back().attributes == nullptr)
        return 0;
    if (kind == Subject::function && images[image].llvm.function_module(subject) == nullptr) return 0;
    void* machine = skip == Skip::fail_with_text ? reinterpret_cast<void*>(arguments[0]) : nullptr;
    if (!begin_work(now, image, kind, subject, machine)) return refuse(now, skip, arguments);
    // Emission sets the module's data layout from the machine before it requests passes.
    if (skip == Skip::fail_with_text) machine::before(image, machine::Use::work, 0, arguments);
    return now.steps.size() - steps_before;
}

void after(std::uint64_t steps) {
    RunState& now = state();
    for (; steps > 0; --steps) {
        const Step step = now.steps.back();
        now.steps.pop_back();
        if (step.kind == Step::Kind::machine) {
            machine::end_run(step.image);
        } else if (step.kind == Step::Kind::function) {
            now.functions.pop_back();
            machine::leave_context(step.image);
            scopes::end_instead();
        } else if (step.kind == Step::Kind::run) {
            machine::end_run(step.image);
            end(now.runs.back());
            now.runs.pop_back();
        } else {
            if (step.kind == Step::Kind::defaults) scopes::end_instead();
            end_outside(step.image);
        }
    }
}

}  // namespace optctx::bind
