// Python bindings of audit/: names and conversions.
#include "lab/audit.hpp"
#include "lab/audit_block.hpp"
#include "python/bindings.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace optctx;

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
        .def_ro("steps", &audit::Report::steps)
        .def_ro("regions", &audit::Report::regions)
        .def_ro("pages", &audit::Report::pages)
        .def_ro("complete", &audit::Report::complete);
    auditing::add_base(m);
    m.def("audits", &auditing::is_on, "Whether an audit is on in this process.");
}
