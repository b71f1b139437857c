// The `with` block of `audit()`. Its class implements four Python methods. `_prepare()` returns the value of the `with`
// statement and leaves the Space in `_space`. `_finish(report, failed)` runs after the audit has ended.
// `_cannot_start(text)` and `_cannot_stop()` return exceptions.
#include "lab/audit.hpp"
#include "os/fork_locks.hpp"
#include "python/bindings.hpp"
#include "python/block.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <exception>
#include <mutex>
#include <string>
#include <utility>

namespace nb = nanobind;
using namespace optctx;

namespace {

// The entered block. A process has at most one audit, which any thread may end.
struct Current {
    os::ForkSafeMutex mutex{os::Rank::audit};
    const void* block = nullptr;  // compared, never used
};

auto& current = *new Current;  // outlives every thread

// Returns why the audit cannot start, or an empty string.
std::string start_audit(const values::Space& space, nb::handle block) {
    const std::lock_guard lock(current.mutex);
    try {
        audit::start(space);
    } catch (const std::exception& error) {
        return error.what();
    }
    current.block = block.ptr();
    return {};
}

// Call with the lock held.
audit::Report stop_audit() {
    current.block = nullptr;
    return audit::stop();
}

nb::object enter_audit(nb::handle self) {
    nb::object seen = blocks::call_method(self, "_prepare");
    const nb::object space = self.attr("_space");
    if (const std::string why = start_audit(nb::cast<const values::Space&>(space), self); !why.empty())
        blocks::raise(blocks::call_method(self, "_cannot_start", why.c_str()));
    return seen;
}

void leave_audit(nb::handle self, bool failed) {
    audit::Report report;
    bool is_entered = false;
    {
        const std::lock_guard lock(current.mutex);
        is_entered = current.block == self.ptr();
        if (is_entered) report = stop_audit();
    }
    if (!is_entered) blocks::raise(blocks::call_method(self, "_cannot_stop"));
    blocks::call_method(self, "_finish", std::move(report), failed);
}

constexpr blocks::Kind audit_block{&enter_audit, &leave_audit};

bool is_on() {
    const std::lock_guard lock(current.mutex);
    return current.block != nullptr;
}

}  // namespace

void add_audit(nb::module_& m) {
    nb::class_<audit::Seen>(m, "Seen", "Accesses of one instruction to one region that bypassed the view.")
        .def_ro("instruction", &audit::Seen::instruction)
        .def_ro("address", &audit::Seen::address)
        .def_ro("slot", &audit::Seen::slot)
        .def_ro("write", &audit::Seen::write)
        .def_ro("count", &audit::Seen::count);
    nb::class_<audit::Report>(m, "AuditReport")
        .def_ro("seen", &audit::Report::seen)
        .def_ro("neighbours", &audit::Report::neighbours)
        .def_ro("entitled", &audit::Report::entitled)
        .def_ro("regions", &audit::Report::regions)
        .def_ro("pages", &audit::Report::pages)
        .def_ro("complete", &audit::Report::complete);
    blocks::add_methods<audit_block>(blocks::make_type(m, "AuditBase", {}));
    m.def("audits", &is_on, "Whether an audit is on in this process.");
}
