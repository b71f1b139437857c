#include "auditing.hpp"

#include "audit/audit.hpp"
#include "os/fork_locks.hpp"

#include <exception>
#include <mutex>
#include <string>
#include <utility>

namespace nb = nanobind;

namespace optctx::auditing {
namespace {

// The block that is entered: there is one audit in a process, which any thread may end.
struct Current {
    os::ForkSafeMutex mutex{os::Rank::audits};
    const void* block = nullptr;  // compared, never used
    view::Ticket ticket;
};

auto& current = *new Current;  // outlives every thread

// What kept it from starting, or an empty string.
std::string start(const view::Space& space, nb::handle block, view::Ticket ticket) {
    const std::lock_guard lock(current.mutex);
    try {
        audit::start(space);
    } catch (const std::exception& error) {
        return error.what();
    }
    current.block = block.ptr();
    current.ticket = ticket;
    return {};
}

// With the lock held.
audit::Report stop() {
    current.block = nullptr;
    current.ticket = {};
    return audit::stop();
}

nb::object enter(nb::handle self, view::Ticket ticket) {
    nb::object seen = blocks::call_method(self, "_prepare");
    const nb::object space = self.attr("_space");
    if (const std::string why = start(nb::cast<const view::Space&>(space), self, ticket); !why.empty())
        blocks::raise(blocks::call_method(self, "_cannot_start", why.c_str()));
    return seen;
}

void leave(nb::handle self, bool failed) {
    audit::Report report;
    bool is_entered = false;
    {
        const std::lock_guard lock(current.mutex);
        is_entered = current.block == self.ptr();
        if (is_entered) report = stop();
    }
    if (!is_entered) blocks::raise(blocks::call_method(self, "_cannot_stop"));
    blocks::call_method(self, "_finish", std::move(report), failed);
}

void abandon(nb::handle, view::Ticket ticket) noexcept {
    const std::lock_guard lock(current.mutex);
    if (!ticket || current.ticket != ticket) return;
    try {
        stop();
    } catch (const std::exception&) {  // memory for the report, with everything put back
    }
}

constexpr blocks::Kind block{&enter, &leave, &abandon};

}  // namespace

void add_base(nb::handle module) { blocks::add_methods<block>(blocks::make_type(module, "AuditBase", {})); }

bool is_on() {
    const std::lock_guard lock(current.mutex);
    return current.block != nullptr;
}

}  // namespace optctx::auditing
