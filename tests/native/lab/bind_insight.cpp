// What tests and evidence ask of the module, audits, and switches of tasks that they simulate: names and conversions,
// no logic.
#include "arch/lengths.hpp"
#include "contexts/activation.hpp"
#include "image/layouts.hpp"
#include "image/registry.hpp"
#include "intercept/bound_contexts.hpp"
#include "intercept/machines.hpp"
#include "lab/audit.hpp"
#include "os/keyed_locks.hpp"
#include "python/bindings.hpp"
#include "python/bytes.hpp"
#include "python/scope_block.hpp"
#include "scopes/recorder.hpp"
#include "scopes/scope.hpp"

void add_insight(nb::module_& m) {
    m.attr("OCCURRENCES_AT") = offsetof(image::RawOption, occurrences);
    m.attr("POSITION_AT") = offsetof(image::RawOption, position);
    m.def(
        "held",
        [] {
            nb::dict held;
            held["scopes"] = sum_over_images(&scopes::active_scopes);
            held["recorders"] = sum_over_images(&scopes::active_recorders);
            held["bindings"] = sum_over_images(&bind::bound_count);
            held["locks"] = os::locked();
            held["calls"] = scopes::calls();
            return held;
        },
        nb::sig("def held() -> dict[str, int]"), "Return what this process currently holds (calls: of this thread).");
    m.def("simulate_context_switches", &scopes::follow_switches, "on"_a,
          "Follow switches as after `watch_context_switches`, with manual calls of `context_switched`.");
    m.def("context_switched", &scoping::follow_task);
    m.def("idle_machines", of_image(&machine::idle_variants), "image"_a,
          "Return the number of idle variants of an image.");
    m.def("forget_machines", of_image(&machine::forget_all), "image"_a,
          "Forget all machines of an image, as `restore` does.");
    m.def(
        "instruction_length",
        [](const nb::bytes& code) {
            std::optional<std::pair<unsigned, unsigned>> found;
            if (const auto length = arch::instruction_length(bytes_of(code)))
                found.emplace(length->length, length->operand_at);
            return found;
        },
        "code"_a,
        "(length, index of the byte that names a relative operand or 0), or None for an unusual instruction.");
    m.def(
        "registry_layouts",
        [] {
            std::vector<std::string> names;
            for (const auto& layout : image::registry_layouts) names.emplace_back(layout.name);
            return names;
        },
        "The names of the layouts that `walk_registry` knows.");
    m.def(
        "storage_shown",
        [](unsigned image, std::uint32_t slot) -> std::optional<std::uintptr_t> {
            contexts::Activation* activation = scopes::seen(views::checked_image(image)).activation;
            if (activation == nullptr) return std::nullopt;
            if (slot >= activation->shown().space().regions().size()) throw nb::index_error("no such slot");
            return reinterpret_cast<std::uintptr_t>(activation->view()[slot]);
        },
        "image"_a, "slot"_a,
        "Return where LLVM finds a region on this thread, inside a context: valid as long as nothing is set there. "
        "None outside.");
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
    m.def("start_audit", &audit::start, "space"_a);
    m.def("stop_audit", &audit::stop);
}
