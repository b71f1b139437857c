#include "lab/audit_block.hpp"

#include "lab/audit.hpp"
#include "os/fork_locks.hpp"

#include <exception>
#include <mutex>
#include <string>
#include <utility>

namespace nb = nanobind;

namespace optctx::auditing {
namespace {

// The entered block. A process has at most one audit, which any thread may end.
struct Current {
    os::ForkSafeMutex mutex{os::Rank::audits};
    const void* block = nullptr;  // compared, never used
    scopes::Ticket ticket;
};

auto& current = *new Current;  // outlives every thread

// Returns why the audit cannot start, or an empty string.
std::string start(const values::Space& space, nb::handle block, scopes::Ticket ticket) {
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

// Call with the lock held.
audit::Report stop() {
    current.block = nullptr;
    current.ticket = {};
    return audit::stop();
}

nb::object enter(nb::handle self, scopes::Ticket ticket) {
    nb::object seen = blocks::call_method(self, "_prepare");
    const nb::object space = self.attr("_space");
    if (const std::string why = start(nb::cast<const values::Space&>(space), self, ticket); !why.empty())
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

void abandon(nb::handle, scopes::Ticket ticket) noexcept {
    const std::lock_guard lock(current.mutex);
    if (!ticket || current.ticket != ticket) return;
    try {
        stop();
    } catch (const std::exception&) {  // no memory for the report, but everything is restored
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
