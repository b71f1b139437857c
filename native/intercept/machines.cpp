#include "intercept/machines.hpp"

#include "intercept/machine_pool.hpp"
#include "scopes/scope.hpp"

#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace optctx::machine {
namespace {

struct Image {
    std::unique_ptr<const Facts> facts;
    void (*tell_cannot_make)(unsigned, const char*) = nullptr;
    Pool pool;
};

auto& images = *new views::PerImage<Image>;  // outlives every thread

// A machine of a run, used in place of `original` while LLVM reads in `context`.
struct Taken {
    unsigned image;
    const void* original;
    std::shared_ptr<const contexts::Context> context;  // null: outside any context
    void* machine;                                     // `original` itself if it was made in that context
    bool kept;                                         // may be used by later runs
};

// The machine with which LLVM emits a module, in place of `original`.
struct Emitting {
    unsigned image;
    const void* original;
    void* machine;
};

// What a thread does in all images. Thread-local storage is scarce: the loader has room for some 1.5 KB in all
// libraries that are loaded while the process runs.
struct Thread {
    views::PerImage<std::uint32_t> runs{};
    bool making = false;
    const void* copied = nullptr;  // see Copying
    std::vector<Taken> taken;
    std::vector<Emitting> emitting;
    // The last result of `in_force`, for this machine in this context.
    const void* machine = nullptr;
    const contexts::Context* context = nullptr;
    void* answer = nullptr;
};

thread_local Thread thread;

std::string key_of(const contexts::Context* context) { return context == nullptr ? outside : context->key(); }

const void* original_of(const void* machine) noexcept {
    for (const Taken& each : thread.taken)
        if (each.machine == machine) return each.original;
    return machine;
}

// If reads are watched, LLVM must make a new machine, so that the reads it does for the machine are seen.
bool reads_are_watched(const contexts::Context& context) noexcept {
    return context.reads() != nullptr || views::substitute(context.space().image()) != nullptr;
}

// Returns the options as the program passed them.
std::shared_ptr<const Options> passed_options(Image& image, const void* machine) {
    std::shared_ptr<const Options> known = image.pool.how_made(machine).first;
    return known != nullptr ? known : image.facts->options_of(machine);
}

void* make(Image& image, const void* original) {
    auto& [facts, tell_cannot_make, pool] = image;
    const auto [options, jit] = pool.how_made(original);
    const std::shared_ptr<const Options> own = passed_options(image, original);
    const std::int32_t level = pool.level(original, facts->llvm().opt_level(original));
    const bool for_jit = jit.value_or(false) || (!jit && facts->made_for_jit(original, own->address(), level));
    if (options == nullptr || !jit) pool.remember(original, own, for_jit);
    return facts->make_like(original, own->address(), level, for_jit);
}

Taken take(unsigned image, void* original, const contexts::Context* context) {
    Taken taken{image, original, context == nullptr ? nullptr : context->shared_from_this(), original, true};
    const std::string key = key_of(context);
    const bool fresh = context != nullptr && reads_are_watched(*context);
    Pool& pool = images[image].pool;
    if (!fresh && pool.made_in(original, key)) return taken;
    taken.kept = !fresh;
    taken.machine = fresh ? nullptr : pool.take(original, key);
    if (taken.machine != nullptr) {
        images[image].facts->carry(original, taken.machine);
        return taken;
    }
    thread.making = true;
    try {
        taken.machine = make(images[image], original);
    } catch (...) {
        thread.making = false;
        throw;
    }
    thread.making = false;
    return taken;
}

void* find_or_take(unsigned image, void* machine, const contexts::Context* context) {
    auto* original = const_cast<void*>(original_of(machine));
    for (const Taken& each : thread.taken)
        if (each.original == original && each.context.get() == context) return each.machine;
    if (context == nullptr && images[image].pool.made_in(original, outside)) return original;
    thread.taken.reserve(thread.taken.size() + 1);
    thread.taken.push_back(take(image, original, context));
    return thread.taken.back().machine;
}

void begin(unsigned image, const void* machine, const void* options) noexcept {
    if (thread.making) return;
    auto& [facts, tell_cannot_make, pool] = images[image];
    try {
        const std::string key = key_of(scopes::current_context(image));
        const void* copied = thread.copied;
        auto own = copied == nullptr ? std::make_shared<const Options>(facts->llvm(), options)
                                     : passed_options(images[image], copied);
        for (void* variant : pool.add(machine, key, std::move(own))) facts->llvm().dispose(variant);
        if (copied != nullptr && !pool.made_in(copied, key)) pool.forget_where(machine);
    } catch (const std::exception&) {  // out of memory: treat the machine as unknown
        pool.remove(machine);
    }
}

void end(unsigned image, const void* machine) noexcept {
    if (thread.making) return;
    for (void* variant : images[image].pool.remove(machine)) images[image].facts->llvm().dispose(variant);
}

// LLVM worked with the machine under values other than its own.
void spoil(unsigned image, const void* machine) noexcept {
    try {
        images[image].pool.forget_where(machine);
    } catch (const std::exception&) {  // out of memory
    }
}

void give_back(const Taken& taken) noexcept {
    auto& [facts, tell_cannot_make, pool] = images[taken.image];
    if (taken.machine == taken.original) {
        if (!taken.kept) spoil(taken.image, taken.original);
        return;
    }
    void* left = taken.machine;
    try {
        if (taken.kept) left = pool.give(taken.original, key_of(taken.context.get()), taken.machine);
    } catch (const std::exception&) {  // out of memory
    }
    if (left != nullptr) facts->llvm().dispose(left);
}

void give_back_all(unsigned image) noexcept {
    const auto of_image = [image](const auto& each) { return each.image == image; };
    std::vector<Taken> all = std::exchange(thread.taken, {});
    for (const Taken& each : all)
        if (of_image(each)) give_back(each);
    std::erase_if(all, of_image);
    thread.taken = std::move(all);
    std::erase_if(thread.emitting, of_image);
    thread.machine = nullptr;
}

void note_level(unsigned image, const void* machine) noexcept {
    const auto& facts = images[image].facts;
    if (facts == nullptr) return;
    try {
        images[image].pool.level(machine, facts->llvm().opt_level(machine));
    } catch (const std::exception&) {  // out of memory
    }
}

void* begin_emission(unsigned image, void* machine) noexcept {
    void* emitting = in_force(image, machine);
    if (thread.runs[image] == 0) return emitting;
    const void* original = original_of(emitting);
    note_level(image, original);
    for (Emitting& each : thread.emitting)
        if (each.original == original) {
            each.machine = emitting;
            return emitting;
        }
    try {
        thread.emitting.push_back({image, original, emitting});
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

void configure(unsigned image, const LlvmCalls& calls, void (*cannot_make)(unsigned, const char*)) {
    auto checked = std::make_unique<const Facts>(calls);  // throws before anything has changed
    images[image].tell_cannot_make = cannot_make;
    images[image].facts = std::move(checked);
}

void* in_force(unsigned image, void* machine) noexcept {
    auto& [facts, tell_cannot_make, pool] = images[image];
    if (facts == nullptr || thread.runs[image] == 0 || thread.making) return machine;
    const contexts::Context* context = scopes::current_context(image);
    if (machine == thread.machine && context == thread.context) return thread.answer;
    try {
        void* answer = find_or_take(image, machine, context);
        thread.machine = machine;
        thread.context = context;
        thread.answer = answer;
        return answer;
    } catch (const std::exception& error) {
        tell_cannot_make(image, error.what());
        spoil(image, original_of(machine));
        return machine;
    }
}

void begin_run(unsigned image) noexcept { ++thread.runs[image]; }

void end_run(unsigned image) noexcept {
    leave_context(image);
    if (--thread.runs[image] == 0) give_back_all(image);
}

void leave_context(unsigned image) noexcept {
    if (thread.taken.empty()) return;
    const contexts::Context* context = scopes::current_context(image);
    if (context == nullptr || !scopes::wrote(image)) return;
    for (Taken& each : thread.taken)
        if (each.context.get() == context) each.kept = false;
}

Copying::Copying(const void* machine) noexcept : before_(std::exchange(thread.copied, machine)) {}
Copying::~Copying() { thread.copied = before_; }

void forget_all(unsigned image) {
    for (void* variant : images[image].pool.clear()) images[image].facts->llvm().dispose(variant);
}

std::size_t idle_variants(unsigned image) { return images[image].pool.idle(); }

void before(unsigned image, Use use, std::uint8_t argument, std::uint64_t* arguments) noexcept {
    std::uint64_t& passed = arguments[argument];
    auto* machine = reinterpret_cast<void*>(passed);
    switch (use) {
        case Use::work:
            passed = reinterpret_cast<std::uint64_t>(in_force(image, machine));
            return;
        case Use::emit:
            passed = reinterpret_cast<std::uint64_t>(begin_emission(image, machine));
            return;
        case Use::lowering:
            passed = reinterpret_cast<std::uint64_t>(emitting_for(machine));
            return;
        case Use::begin:
            return begin(image, machine, reinterpret_cast<const void*>(arguments[5]));
        case Use::end:
            return end(image, machine);
        case Use::reset_options:
            if (void* other = in_force(image, machine); other != machine)
                images[image].facts->llvm().reset_options(other, reinterpret_cast<const void*>(arguments[1]));
            return;
    }
}

}  // namespace optctx::machine
