#include "intercept/machines.hpp"

#include "intercept/setters.hpp"
#include "os/fork_locks.hpp"
#include "scopes/scope.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace optctx::machine {
namespace {

// The values that a machine is made or used under, and the entry into a context that has them. LLVM writes to options
// while it makes machines for some targets, and a later entry does not see that.
struct Values {
    std::string key;          // contexts::Context::key, which is never empty; "": the process-wide values
    std::uint64_t entry = 0;  // contexts::Activation::entry; 0: the process, or any
};

// What is known of each TargetMachine, and its idle variants. The caller disposes of machines, because LLVM must not be
// called with the lock held.
class Table {
public:
    // Adds a machine that begins, made under those values. `like`: null, or the machine whose options it has. Returns
    // the variants of an earlier machine at the same address.
    std::vector<void*> add(const void* machine, const Values& values, Made made, const void* like) {
        Known known{values, std::move(made)};
        const std::lock_guard lock(mutex_);
        if (like != nullptr && !made_in(like, values)) known.values.reset();
        std::swap(known_[machine], known);  // what was known is destroyed after the lock is released: that calls LLVM
        return take_all(machine);
    }
    // Removes a machine that ends. Returns its variants.
    std::vector<void*> remove(const void* machine) noexcept {
        decltype(known_)::node_type node;  // destroyed after the lock is released
        const std::lock_guard lock(mutex_);
        node = known_.extract(machine);
        return node.empty() ? std::vector<void*>{} : take_all(machine);
    }
    std::vector<void*> clear() noexcept {
        std::vector<void*> variants;
        decltype(known_) known;  // destroyed after the lock is released
        const std::lock_guard lock(mutex_);
        for (const Idle& each : idle_) variants.push_back(each.variant);
        idle_.clear();
        known.swap(known_);
        return variants;
    }
    // From now on the machine is not the one for any values.
    void spoil(const void* machine) noexcept {
        const std::lock_guard lock(mutex_);
        if (const auto found = known_.find(machine); found != known_.end()) found->second.values.reset();
    }
    // LLVM wrote to no option while the machine was made and first used: it is the one for its values in every entry.
    void settle(const void* machine) noexcept {
        const std::lock_guard lock(mutex_);
        if (const auto found = known_.find(machine); found != known_.end() && found->second.values)
            found->second.values->entry = 0;
    }

    // Returns how the machine was made, as far as that is known, `found` included.
    Made learn(const void* machine, const Made& found) {
        const std::lock_guard lock(mutex_);
        Made& made = known_[machine].made;
        if (!made.options) made.options = found.options;
        if (!made.level) made.level = found.level;
        if (!made.jit) made.jit = found.jit;
        return made;
    }
    // Returns the machine itself if it is the one for those values, or else an idle variant for them, or
    // null. A machine whose construction was not seen counts as made with the process-wide values.
    void* take(void* machine, const Values& values) noexcept {
        const std::lock_guard lock(mutex_);
        if (made_in(machine, values)) return machine;
        // The newest are at the end, and a context is usually re-entered soon.
        const auto found = std::find_if(idle_.rbegin(), idle_.rend(), [&](const Idle& idle) {
            return idle.machine == machine && idle.key == values.key;
        });
        if (found == idle_.rend()) return nullptr;
        void* variant = found->variant;
        idle_.erase(std::next(found).base());
        return variant;
    }
    // Keeps a variant. Returns one to dispose of, or null.
    void* give(const void* machine, const std::string& key, void* variant) {
        std::list<Idle> node;
        node.push_back({machine, key, variant});
        const std::lock_guard lock(mutex_);
        if (!known_.contains(machine)) return variant;  // the machine has ended
        idle_.splice(idle_.end(), node);
        if (idle_.size() <= capacity_) return nullptr;
        void* oldest = idle_.front().variant;
        idle_.pop_front();
        return oldest;
    }
    std::size_t idle() {
        const std::lock_guard lock(mutex_);
        return idle_.size();
    }

private:
    struct Known {
        std::optional<Values> values = Values{};  // nullopt: made for no values
        Made made;
    };
    struct Idle {
        const void* machine;
        std::string key;
        void* variant;
    };
    static constexpr std::size_t capacity_ = 32;  // variants, up to a megabyte each

    // Call the next two with the lock held.
    bool made_in(const void* machine, const Values& values) const noexcept {
        const auto found = known_.find(machine);
        if (found == known_.end()) return values.key.empty();
        const auto& made = found->second.values;
        return made && made->key == values.key && (made->entry == 0 || made->entry == values.entry);
    }
    std::vector<void*> take_all(const void* machine) {
        std::vector<void*> variants;
        idle_.remove_if([&](const Idle& each) {
            if (each.machine == machine) variants.push_back(each.variant);
            return each.machine == machine;
        });
        return variants;
    }

    os::ForkSafeMutex mutex_{os::Rank::machines};
    std::unordered_map<const void*, Known> known_;
    std::list<Idle> idle_;  // oldest first
};

struct Image {
    std::unique_ptr<const Facts> facts;
    Table table;
};

auto& images = *new views::PerImage<Image>;  // outlives every thread

// A machine of a run, used in place of `original` while LLVM reads in `context`.
struct Taken {
    unsigned image;
    void* original;
    std::shared_ptr<const contexts::Context> context;  // null: outside any context
    void* machine = original;  // `original` itself if it was made in that context, or while there is no other
    bool done = false;         // `machine` is the one for the context
    bool kept = true;          // `machine` may be used by later runs
    bool emits = false;        // LLVM emits a module with `machine`
};

// What a thread does in all images. Thread-local storage is scarce: the loader has room for some 1.5 KB in all
// libraries that are loaded while the process runs.
struct Thread {
    views::PerImage<std::uint32_t> runs{};
    bool making = false;
    const void* copied = nullptr;  // see Copying
    std::vector<Taken> taken;
    // The last result of `in_force`, for this machine in this context.
    const void* machine = nullptr;
    const contexts::Context* context = nullptr;
    void* answer = nullptr;
};

thread_local Thread thread;

Values values_in_force(unsigned image) {
    const contexts::Activation* activation = scopes::seen(image).activation;
    return activation == nullptr ? Values{} : Values{activation->shown().key(), activation->entry()};
}

void* original_of(void* machine) noexcept {
    for (const Taken& each : thread.taken)
        if (each.machine == machine) return each.original;
    return machine;
}

// If reads are watched, LLVM must make a new machine, so that the reads it does for the machine are seen.
bool reads_are_watched(const contexts::Context& context) noexcept {
    return context.reads() != nullptr || views::substitute(context.space().image()) != nullptr;
}

// Makes a variant of `original`, under the values that this thread reads. Meanwhile machines begin and end unseen.
void* make(Image& image, const void* original, Made made) {
    const struct Making {
        Making() { thread.making = true; }
        ~Making() { thread.making = false; }
    } making;
    image.facts->complete(original, made);
    image.table.learn(original, made);
    return image.facts->make_like(original, made);
}

void* find_or_take(unsigned image, void* machine, const contexts::Context* context) {
    void* original = original_of(machine);
    const auto found = std::ranges::find_if(
        thread.taken, [&](const Taken& each) { return each.original == original && each.context.get() == context; });
    Taken& taken = found != thread.taken.end()
                       ? *found
                       : thread.taken.emplace_back(
                             Taken{image, original, context == nullptr ? nullptr : context->shared_from_this()});
    if (taken.done) return taken.machine;
    auto& [facts, table] = images[image];
    const std::int32_t level = facts->level(original);
    const Made made = table.learn(original, Made{.level = level});
    taken.kept = context == nullptr || !reads_are_watched(*context);
    void* kept = taken.kept ? table.take(original, values_in_force(image)) : nullptr;
    taken.machine = kept != nullptr ? kept : make(images[image], original, made);
    if (taken.machine != original) facts->carry(original, taken.machine);
    taken.done = true;
    return taken.machine;
}

void begin(unsigned image, const void* machine, const void* options) noexcept {
    if (thread.making) return;
    auto& [facts, table] = images[image];
    const void* like = thread.copied;
    try {
        Made made;
        if (like != nullptr) made.options = table.learn(like, {}).options;
        if (made.options == nullptr)
            made.options = like == nullptr ? facts->copy_options(options) : facts->options_of(like);
        const Values values = values_in_force(image);
        for (void* variant : table.add(machine, values, std::move(made), like)) facts->llvm().dispose(variant);
    } catch (const std::exception&) {  // out of memory: treat the machine as unknown
        table.remove(machine);
    }
}

void give_back(const Taken& taken) noexcept {
    auto& [facts, table] = images[taken.image];
    if (taken.machine == taken.original) {
        if (taken.kept)
            table.settle(taken.original);
        else
            table.spoil(taken.original);
        return;
    }
    void* left = taken.machine;
    try {
        const contexts::Context* context = taken.context.get();
        if (taken.kept) left = table.give(taken.original, context == nullptr ? "" : context->key(), taken.machine);
    } catch (const std::exception&) {  // out of memory
    }
    if (left != nullptr) facts->llvm().dispose(left);
}

template <class Which>
void give_back_if(const Which& which) noexcept {
    std::vector<Taken> all = std::exchange(thread.taken, {});
    for (const Taken& each : all)
        if (which(each)) give_back(each);
    std::erase_if(all, which);
    thread.taken = std::move(all);
    thread.machine = nullptr;
}

void end(unsigned image, const void* machine) noexcept {
    if (thread.making) return;
    for (void* variant : images[image].table.remove(machine)) images[image].facts->llvm().dispose(variant);
    give_back_if([machine](const Taken& each) { return each.original == machine; });
}

// Returns the machine to work with in place of `machine` until the outermost run ends. Outside runs, returns `machine`.
void* in_force(unsigned image, void* machine) noexcept {
    auto& [facts, table] = images[image];
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
        contain::reporter.cannot_make_machine(image, error.what());
        table.spoil(original_of(machine));
        return machine;
    }
}

void* begin_emission(unsigned image, void* machine) noexcept {
    void* emitting = in_force(image, machine);
    void* original = original_of(emitting);
    for (Taken& each : thread.taken)
        if (each.original == original) each.emits = each.machine == emitting;
    return emitting;
}

void* emitting_for(void* machine) noexcept {
    void* original = original_of(machine);
    for (const Taken& each : thread.taken)
        if (each.original == original && each.emits) return each.machine;
    return machine;
}

}  // namespace

void configure(unsigned image, LlvmCalls calls) {
    images[image].facts = std::make_unique<const Facts>(std::move(calls));
}

void begin_run(unsigned image) noexcept { ++thread.runs[image]; }

void end_run(unsigned image) noexcept {
    leave_context(image);
    if (--thread.runs[image] == 0) give_back_if([image](const Taken& each) { return each.image == image; });
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
    for (void* variant : images[image].table.clear()) images[image].facts->llvm().dispose(variant);
}

std::size_t idle_variants(unsigned image) { return images[image].table.idle(); }

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
            return begin(image, reinterpret_cast<const void*>(arguments[0]), reinterpret_cast<const void*>(passed));
        case Use::end:
            return end(image, machine);
        case Use::reset_options:
            if (void* other = in_force(image, machine); other != machine)
                images[image].facts->llvm().reset_options(other, reinterpret_cast<const void*>(arguments[1]));
            return;
    }
}

}  // namespace optctx::machine
