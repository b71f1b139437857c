#include "intercept/parser.hpp"

#include "intercept/interception.hpp"
#include "intercept/setters.hpp"
#include "os/keyed_locks.hpp"
#include "scopes/scope.hpp"
#include "views/view.hpp"

namespace optctx::contain {
namespace {

views::PerImage<std::uintptr_t> parsers{};

thread_local views::PerImage<bool> parsing{};  // this thread is inside the parser, and holds the lock

// Calls LLVM's own function, while no other thread does: the parser has process-wide state. The lock is by address, not
// a mutex, because the parser calls code that may fork or need the GIL. LLVM ends the process from within if an option
// is bad and the caller has asked for that; it throws nothing.
std::uint64_t parse(unsigned image, std::uintptr_t function, const std::uint64_t* a, const std::uint64_t* stack) {
    using Parse = std::uint64_t (*)(std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t,
                                    std::uint64_t, std::uint64_t, std::uint64_t);
    const struct Alone {
        const os::Locked locked;
        bool& here;
        Alone(std::uintptr_t address, bool& flag) : locked({address}, {wait_for_parser, [] {}}), here(flag) {
            here = true;
        }
        ~Alone() { here = false; }
    } alone(function, parsing[image]);
    return reinterpret_cast<Parse>(function)(a[0], a[1], a[2], a[3], a[4], a[5], stack[1], stack[2]);
}

}  // namespace

void use_parser(unsigned image, std::uintptr_t address) { parsers[image] = address; }

bool before(unsigned image, Function function, std::uint64_t* arguments, const std::uint64_t* stack) {
    if (scopes::current_context(image) == nullptr) return false;
    std::uint64_t& result = arguments[intercept::result_index];
    if (function == Function::reset) {
        result = 0;
        return reset(image);
    }
    if (parsing[image]) return false;
    result = parse(image, parsers[image], arguments, stack);
    return true;
}

}  // namespace optctx::contain
