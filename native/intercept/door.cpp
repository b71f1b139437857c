#include "intercept/door.hpp"

#include "intercept/interception.hpp"
#include "intercept/machines.hpp"
#include "intercept/parser.hpp"
#include "intercept/runs.hpp"

namespace optctx::intercept {

std::uint64_t optctx_before(std::uint32_t packed, std::uint64_t* arguments, const std::uint64_t* stack) {
    const auto [image, handler, argument, detail] = unpack(packed);
    switch (handler) {
        case Handler::run:
            return bind::before(image, bind::unpack(detail), argument, arguments);
        case Handler::machine:
            machine::before(image, static_cast<machine::Use>(detail), argument, arguments);
            return 0;
        case Handler::parser:
            return contain::before(image, static_cast<contain::Function>(detail), arguments, stack) ? skip_call : 0;
    }
    return 0;
}

void optctx_after(std::uint64_t steps) { bind::after(steps); }

}  // namespace optctx::intercept
