#include "intercept/parser.hpp"

#include "intercept/interception.hpp"
#include "intercept/setters.hpp"
#include "os/fork_locks.hpp"
#include "scopes/scope.hpp"
#include "views/view.hpp"

#include <unistd.h>

#include <array>
#include <cstddef>

namespace optctx::contain {
namespace {

constexpr std::size_t functions = 4;
views::PerImage<std::array<std::uintptr_t, functions>> entries{};
views::PerImage<const image::RegistryLayout*> registries{};

// The thread that LLVM's parser works for. Not a mutex: the parser calls code that may fork or need the GIL. In the
// child of a fork, a thread of the parent has left the parser for good.
class Turn {
public:
    bool begin_at_once() {
        const std::lock_guard lock(mutex_);
        return take_if_free();
    }
    void begin() {
        os::ForkSafeLock lock(mutex_);
        changed_.wait(lock, [this] { return take_if_free(); });
    }
    void end() noexcept {
        const std::lock_guard lock(mutex_);
        thread_ = nullptr;
        changed_.notify_all();
    }

private:
    bool take_if_free() noexcept {
        if (thread_ != nullptr && (process_ == getpid() || thread_ == __builtin_thread_pointer())) return false;
        thread_ = __builtin_thread_pointer();
        process_ = getpid();
        return true;
    }

    os::ForkSafeMutex mutex_{os::Rank::setting};
    os::ForkSafeCondition changed_;
    const void* thread_ = nullptr;
    pid_t process_ = 0;
};

auto& turns = *new views::PerImage<Turn>;  // outlive every thread

thread_local views::PerImage<bool> parsing{};  // this thread has the turn

Wait wait_with = [](void (*wait)(void*), void* data) { wait(data); };

// LLVM's own function again, on behalf of this thread alone. LLVM ends the process from within if an option is bad and
// the caller has asked for that; it throws nothing.
std::uint64_t parse(unsigned image, std::uintptr_t function, const std::uint64_t* a, const std::uint64_t* stack) {
    using Parse = std::uint64_t (*)(std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t,
                                    std::uint64_t, std::uint64_t, std::uint64_t);
    Turn& turn = turns[image];
    if (!turn.begin_at_once()) wait_with([](void* which) { static_cast<Turn*>(which)->begin(); }, &turn);
    parsing[image] = true;
    const std::uint64_t result =
        reinterpret_cast<Parse>(function)(a[0], a[1], a[2], a[3], a[4], a[5], stack[1], stack[2]);
    parsing[image] = false;
    turn.end();
    return result;
}

thread_local views::PerImage<bool> asking{};  // this thread asks LLVM for its own map

void* own_registry(unsigned image, std::uintptr_t function, std::uint64_t subcommand) {
    using Registered = void* (*)(std::uint64_t);
    asking[image] = true;
    void* map = reinterpret_cast<Registered>(function)(subcommand);
    asking[image] = false;
    return map;
}

bool is_contained(unsigned image) noexcept {
    const contexts::Context* context = scopes::current_context(image);
    return context != nullptr && context->sets() != contexts::Sets::process;
}

}  // namespace

void use_function(unsigned image, Function function, std::uintptr_t address) {
    entries[image][static_cast<std::size_t>(function)] = address;
}

void use_wait(Wait wait) { wait_with = wait; }

void use_registry(unsigned image, const std::string& layout) { registries[image] = &image::registry_layout(layout); }

bool before(unsigned image, Function function, std::uint64_t* arguments, const std::uint64_t* stack) {
    if (!is_contained(image)) return false;
    const std::uintptr_t address = entries[image][static_cast<std::size_t>(function)];
    std::uint64_t& result = arguments[intercept::result_index];
    if (function == Function::registered) {
        if (asking[image] || registries[image] == nullptr) return false;
        void* map = registered_options(image, *registries[image], own_registry(image, address, arguments[0]));
        result = reinterpret_cast<std::uint64_t>(map);
        return map != nullptr;
    }
    if (function != Function::parse) {
        result = 0;
        return reset(image) != Outcome::process;
    }
    if (parsing[image]) return false;
    result = parse(image, address, arguments, stack);
    return true;
}

}  // namespace optctx::contain
