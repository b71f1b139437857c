#include "intercept/interception.hpp"

#include "intercept/machines.hpp"
#include "intercept/parser.hpp"
#include "intercept/runs.hpp"
#include "intercept/setters.hpp"

#include <bit>
#include <exception>

namespace optctx::intercept {

namespace {

std::uint64_t before(Interception which, std::uint64_t* arguments, const std::uint64_t* stack) {
    const auto [image, handler, argument, detail, skip] = which;
    switch (handler) {
        case Handler::run:
            return bind::before(image, static_cast<bind::Subject>(detail), static_cast<bind::Skip>(skip), argument,
                                arguments);
        case Handler::machine:
            machine::before(image, static_cast<machine::Use>(detail), argument, arguments);
            return 0;
        case Handler::parser:
            return contain::before(image, static_cast<contain::Function>(detail), arguments, stack) ? skip_call : 0;
    }
    return 0;
}

}  // namespace

// No exception may leave these: the code that calls them has no unwind table, so the process would end.
std::uint64_t optctx_before(std::uint32_t packed, std::uint64_t* arguments, const std::uint64_t* stack) noexcept {
    const Interception which = std::bit_cast<Interception>(packed);
    try {
        return before(which, arguments, stack);
    } catch (const std::exception& error) {
        contain::reporter.failed(which.image, error.what());
        return 0;
    }
}

void optctx_after(std::uint64_t steps) noexcept { bind::after(steps); }

}  // namespace optctx::intercept
