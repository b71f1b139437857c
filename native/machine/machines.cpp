#include "machine/machines.hpp"

#include "machine/pool.hpp"
#include "view/scope.hpp"

#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace optctx::machine {
namespace {

unsigned image = 0;
std::unique_ptr<const Facts> facts;
void (*tell_cannot_make)(const char*) = nullptr;

auto& pool = *new Pool;  // outlives every thread

// A machine of a run, used in place of `original` while LLVM reads in `context`.
struct Taken {
    const void* original;
    std::shared_ptr<const view::Context> context;  // null: outside any context
    void* machine;                                 // `original` itself if it was made in that context
    bool kept;                                     // may be used by later runs
};

// The machine with which LLVM emits a module, in place of `original`.
struct Emitting {
    const void* original;
    void* machine;
};

struct Thread {
    std::size_t runs = 0;
    bool making = false;
    std::vector<Taken> taken;
    std::vector<Emitting> emitting;
    // The last result of `in_force`, for this machine in this context.
    const void* machine = nullptr;
    const view::Context* context = nullptr;
    void* answer = nullptr;
};

thread_local Thread thread;

std::string key_of(const view::Context* context) { return context == nullptr ? outside : context->key(); }

const void* original_of(const void* machine) noexcept {
    for (const Taken& each : thread.taken)
        if (each.machine == machine) return each.original;
    return machine;
}

// If reads are watched, LLVM must make a new machine, so that the reads it does for the machine are seen.
bool reads_are_watched(const view::Context& context) noexcept {
    return context.reads() != nullptr || view::substitute() != nullptr;
}

void* make(const void* original) {
    const auto [options, jit] = pool.how_made(original);
    std::shared_ptr<const Options> own = options;
    if (own == nullptr) own = facts->options_of(original);
    const bool for_jit = jit.value_or(false) || (!jit && facts->made_for_jit(original, own->address()));
    if (options == nullptr || !jit) pool.remember(original, own, for_jit);
    return facts->make_like(original, own->address(), for_jit);
}

Taken take(void* original, const view::Context* context) {
    Taken taken{original, context == nullptr ? nullptr : context->shared_from_this(), original, true};
    const std::string key = key_of(context);
    const bool fresh = context != nullptr && reads_are_watched(*context);
    if (!fresh && pool.made_in(original, key)) return taken;
    taken.kept = !fresh;
    taken.machine = fresh ? nullptr : pool.take(original, key);
    if (taken.machine != nullptr) {
        facts->carry(original, taken.machine);
        return taken;
    }
    thread.making = true;
    try {
        taken.machine = make(original);
    } catch (...) {
        thread.making = false;
        throw;
    }
    thread.making = false;
    return taken;
}

void* find_or_take(void* machine, const view::Context* context) {
    auto* original = const_cast<void*>(original_of(machine));
    for (const Taken& each : thread.taken)
        if (each.original == original && each.context.get() == context) return each.machine;
    if (context == nullptr && pool.made_in(original, outside)) return original;
    thread.taken.reserve(thread.taken.size() + 1);
    thread.taken.push_back(take(original, context));
    return thread.taken.back().machine;
}

void begin(const void* machine, const void* options) noexcept {
    if (thread.making) return;
    try {
        const view::Context* context = view::current_context(image);
        for (void* variant :
             pool.add(machine, key_of(context), std::make_shared<const Options>(facts->llvm(), options)))
            facts->llvm().dispose(variant);
    } catch (const std::exception&) {  // out of memory: treat the machine as unknown
        pool.remove(machine);
    }
}

void end(const void* machine) noexcept {
    if (thread.making) return;
    for (void* variant : pool.remove(machine)) facts->llvm().dispose(variant);
}

// LLVM worked with the machine under values other than its own.
void spoil(const void* machine) noexcept {
    try {
        pool.forget_where(machine);
    } catch (const std::exception&) {  // out of memory
    }
}

void give_back() noexcept {
    for (const Taken& each : std::exchange(thread.taken, {})) {
        if (each.machine == each.original) {
            if (!each.kept) spoil(each.original);
            continue;
        }
        void* left = each.machine;
        try {
            if (each.kept) left = pool.give(each.original, key_of(each.context.get()), each.machine);
        } catch (const std::exception&) {  // out of memory
        }
        if (left != nullptr) facts->llvm().dispose(left);
    }
    thread.machine = nullptr;
    thread.emitting.clear();
}

void* begin_emission(void* machine) noexcept {
    void* emitting = in_force(machine);
    if (thread.runs == 0) return emitting;
    const void* original = original_of(emitting);
    for (Emitting& each : thread.emitting)
        if (each.original == original) {
            each.machine = emitting;
            return emitting;
        }
    try {
        thread.emitting.push_back({original, emitting});
    } catch (const std::exception&) {  // out of memory
    }
    return emitting;
}

void* emitting_for(void* machine) noexcept {
    if (thread.emitting.empty()) return machine;
    const void* original = original_of(machine);
    for (const Emitting& each : thread.emitting)
        if (each.original == original) return each.machine;
    return machine;
}

}  // namespace

void configure(unsigned index, const LlvmCalls& calls, void (*cannot_make)(const char*)) {
    auto checked = std::make_unique<const Facts>(calls);  // throws before anything has changed
    image = index;
    tell_cannot_make = cannot_make;
    facts = std::move(checked);
}

void* in_force(void* machine) noexcept {
    if (facts == nullptr || thread.runs == 0 || thread.making) return machine;
    const view::Context* context = view::current_context(image);
    if (context == nullptr && thread.taken.empty() && !pool.any_made_inside()) return machine;
    if (machine == thread.machine && context == thread.context) return thread.answer;
    try {
        void* answer = find_or_take(machine, context);
        thread.machine = machine;
        thread.context = context;
        thread.answer = answer;
        return answer;
    } catch (const std::exception& error) {
        tell_cannot_make(error.what());
        spoil(original_of(machine));
        return machine;
    }
}

void begin_run() noexcept { ++thread.runs; }

void end_run() noexcept {
    leave_context();
    if (--thread.runs == 0) give_back();
}

void leave_context() noexcept {
    if (thread.taken.empty()) return;
    const view::Context* context = view::current_context(image);
    if (context == nullptr || !view::wrote(image)) return;
    for (Taken& each : thread.taken)
        if (each.context.get() == context) each.kept = false;
}

void forget_all() {
    for (void* variant : pool.clear()) facts->llvm().dispose(variant);
}

std::size_t idle_variants() { return pool.idle(); }

void optctx_use_machine(std::uint32_t entry, std::uint64_t* arguments) {
    std::uint64_t& argument = arguments[entry >> 8];
    auto* machine = reinterpret_cast<void*>(argument);
    switch (static_cast<Use>(entry & 0xFF)) {
        case Use::work:
            argument = reinterpret_cast<std::uint64_t>(in_force(machine));
            return;
        case Use::emit:
            argument = reinterpret_cast<std::uint64_t>(begin_emission(machine));
            return;
        case Use::lowering:
            argument = reinterpret_cast<std::uint64_t>(emitting_for(machine));
            return;
        case Use::begin:
            return begin(machine, reinterpret_cast<const void*>(arguments[5]));
        case Use::end:
            return end(machine);
        case Use::reset_options:
            if (void* other = in_force(machine); other != machine)
                facts->llvm().reset_options(other, reinterpret_cast<const void*>(arguments[1]));
            return;
        case Use::layout:  // bind::optctx_before handles it
            return;
    }
}

}  // namespace optctx::machine
