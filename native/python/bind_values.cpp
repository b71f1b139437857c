// Regions of LLVM's storage and the sets of values for them: names and conversions, no logic.
#include "arch/sites.hpp"
#include "contexts/context.hpp"
#include "contexts/storage.hpp"
#include "os/os.hpp"
#include "python/bindings.hpp"
#include "python/bytes.hpp"
#include "values/read_values.hpp"

#include <nanobind/stl/array.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/variant.h>

#include <algorithm>
#include <array>

namespace {

values::Setting merge(const std::vector<SharedSetting>& settings) {
    values::Setting merged;
    for (const SharedSetting& setting : settings)
        merged.insert(merged.end(), setting.patches->begin(), setting.patches->end());
    return merged;
}

// `reporting`: slots of (stream, fatal error handler, its argument). `functions`: (bytes of the stream's virtual
// functions, index of write_impl).
values::Space* make_space(unsigned image, std::vector<values::Region> regions, std::uintptr_t add_occurrence,
                          const std::array<std::uint32_t, 3>& reporting, std::pair<std::size_t, std::size_t> functions,
                          const arch::Readers& readers) {
    const auto [stream, handler, data] = reporting;
    const values::Reporting slots{stream, handler, data, regions.at(stream).size, functions.first, functions.second};
    std::size_t reach = sizeof(void*);
    for (const values::Region& region : regions) reach = std::max(reach, region.size);
    auto layout = std::make_shared<const views::Layout>(regions.size(), readers.all, reach);
    auto space = std::make_unique<values::Space>(image, std::move(regions), add_occurrence, slots, std::move(layout));
    contexts::plan_copies(*space);
    return space.release();
}

}  // namespace

void add_values(nb::module_& m) {
    nb::enum_<values::Kind>(m, "Kind")
        .value("boolean", values::Kind::boolean)
        .value("bool_or_default", values::Kind::bool_or_default)
        .value("int32", values::Kind::int32)
        .value("uint32", values::Kind::uint32)
        .value("int64", values::Kind::int64)
        .value("uint64", values::Kind::uint64)
        .value("float32", values::Kind::float32)
        .value("float64", values::Kind::float64)
        .value("character", values::Kind::character)
        .value("string", values::Kind::string)
        .value("enumeration", values::Kind::enumeration)
        .value("list", values::Kind::list)
        .value("bits", values::Kind::bits)
        .value("other", values::Kind::other)
        .value("long_string", values::Kind::long_string)
        .value("libcxx_string", values::Kind::libcxx_string);
    nb::enum_<values::Role>(m, "Role")
        .value("option", values::Role::option)
        .value("variable", values::Role::variable)
        .value("state", values::Role::state)
        .value("runtime", values::Role::runtime)
        .value("decision", values::Role::decision);
    nb::enum_<values::Ownership>(m, "Ownership")
        .value("none", values::Ownership::none)
        .value("string", values::Ownership::string)
        .value("list", values::Ownership::list)
        .value("list_of_strings", values::Ownership::list_of_strings)
        .value("shared_pointer", values::Ownership::shared_pointer);
    nb::enum_<values::Abi>(m, "Abi")
        .value("copy_on_write", values::Abi::copy_on_write)
        .value("libstdcxx", values::Abi::libstdcxx)
        .value("libcxx", values::Abi::libcxx);
    nb::class_<values::Region>(m, "Region", "A piece of LLVM's static storage that is redirected as a whole.")
        .def(nb::init<std::uintptr_t, std::size_t, values::Role, values::Kind, values::Ownership, values::Abi, bool,
                      bool, bool>(),
             "live"_a, "size"_a, "role"_a, "kind"_a = values::Kind::other, "ownership"_a = values::Ownership::none,
             "abi"_a = values::Abi::libstdcxx, "scoped"_a = false, "written"_a = false, "escapes"_a = false)
        .def_ro("live", &values::Region::live)
        .def_ro("size", &values::Region::size)
        .def_ro("role", &values::Region::role)
        .def_ro("kind", &values::Region::kind)
        .def_rw("ownership", &values::Region::ownership)
        .def_rw("variable", &values::Region::variable)
        .def_rw("value_offset", &values::Region::value_offset)
        .def_ro("scoped", &values::Region::scoped)
        .def_rw("written", &values::Region::written)
        .def_rw("escapes", &values::Region::escapes)
        .def_rw("shared", &values::Region::shared)
        .def_rw("has_default", &values::Region::has_default)
        .def_rw("set_default", &values::Region::set_default)
        .def(
            "set_initial",
            [](values::Region& r, std::size_t at, const nb::bytes& bytes) {
                r.initial_at = at;
                r.initial = unpacked<std::uint8_t>(bytes);
            },
            "at"_a, "initial"_a, "Set the bytes with which a context starts, from byte `at` on.")
        .def(
            "add_pointer",
            [](values::Region& r, std::size_t at, std::uint32_t slot, std::size_t offset) {
                r.pointers.push_back({at, slot, offset});
            },
            "at"_a, "slot"_a, "offset"_a,
            "Make the word at byte `at` a pointer to byte `offset` of the region of `slot`.");
    add_error<os::OsError>(m, "OsError", PyExc_RuntimeError);
    m.attr("NO_SLOT") = values::no_slot;
    m.attr("MAX_IMAGES") = views::max_images;
    m.def("view_offset", of_image(&views::view_offset), "image"_a);
    m.def("exposed_offset", &views::exposed_offset);
    // Python code catches these and raises classes of its own with the same text.
    nb::exception<values::ParseError>(m, "ParseError", PyExc_ValueError);
    nb::class_<SharedSetting>(m, "Setting", "The storage that gives options their values.")
        .def_prop_ro(
            "addresses",
            [](const SharedSetting& s) {
                nb::dict found;
                for (const values::Patch& patch : *s.patches)
                    found[nb::int_(patch.slot)] = reinterpret_cast<std::uintptr_t>(patch.block->address());
                return found;
            },
            nb::sig("def addresses(self) -> dict[int, int]"), "Where the storage of each slot is.")
        .def("is_same", [](const SharedSetting& a, const SharedSetting& b) { return a.patches == b.patches; });
    nb::class_<values::Space>(m, "Space", "The regions of one image and their registered values.")
        .def_static(
            "make", &make_space, "image"_a, "regions"_a, "add_occurrence"_a, "reporting"_a, "stream_functions"_a,
            "readers"_a, nb::rv_policy::reference,
            "Make a space for an image whose reads go through views. It is never freed: threads inside contexts and "
            "LLVM itself may hold addresses. `reporting`: slots of the objects through which LLVM reports; "
            "`stream_functions`: (bytes of the stream's virtual functions, index of write_impl).")
        .def(
            "default_address",
            [](const values::Space& s, std::uint32_t slot) {
                return reinterpret_cast<std::uintptr_t>(s.defaults()[slot]);
            },
            "slot"_a)
        .def("scope_debugging", &values::Space::scope_debugging, "debug"_a, "debug_only"_a, "type_size"_a, "abi"_a,
             "Give debug output only to threads inside a context with `debug` or `debug-only`. Takes the slots of the "
             "two, and of one type in LLVM's list the bytes and the ABI of its string. Call before anything is "
             "redirected.")
        .def(
            "parse",
            [](values::Space& s, std::uint32_t slot, const std::string& name,
               const std::vector<std::optional<std::string>>& texts) {
                values::Occurrences given;
                for (const auto& text : texts) given.values.push_back({name, text});
                return SharedSetting{std::make_shared<const values::Setting>(s.parse(slot, given))};
            },
            "slot"_a, "name"_a, "texts"_a)
        .def("no_drift", [](values::Space&) { return SharedSetting{std::make_shared<const values::Setting>()}; })
        .def("drift", [](values::Space& s) { return SharedSetting{s.drift()}; });
    nb::class_<views::Reads>(m, "Reads", "Which readers have read.")
        .def_static(
            "make",
            [](const values::Space& s, std::shared_ptr<views::Reads> from, const std::vector<std::uint32_t>& hidden) {
                const auto& readers = s.layout()->readers();
                std::vector<bool> hides;
                for (const views::Reader& reader : readers)
                    hides.push_back(std::find(hidden.begin(), hidden.end(), reader.slot) != hidden.end());
                return std::make_shared<views::Reads>(std::move(from), std::move(hides));
            },
            "space"_a, "outer"_a.none(), "hidden"_a,
            "Make marks that also mark in `outer`, if given, except readers of the slots in `hidden`.");
    nb::class_<contexts::Context>(m, "Context", "A full set of option values.")
        .def_static(
            "make",
            [](values::Space& space, const SharedSetting& base, const std::vector<SharedSetting>& overrides,
               std::shared_ptr<views::Reads> reads) {
                return std::make_shared<contexts::Context>(space, base.patches, merge(overrides), std::move(reads));
            },
            "space"_a, "base"_a, "overrides"_a, "reads"_a.none() = nb::none(),
            "Make a context: the registered values, then `base`, then `overrides`.")
        .def_prop_ro("changed", &contexts::Context::changed, "Slots whose regions differ from what was registered.")
        .def(
            "text", [](const contexts::Context& c, std::uint32_t slot) { return to_bytes(c.text(slot)); }, "slot"_a,
            "Return the text that LLVM parsed into the value, equal for equal occurrences; empty if it is not known.")
        .def_prop_ro("base", [](const contexts::Context& c) { return SharedSetting{c.base()}; })
        .def_prop_ro("reads", &contexts::Context::reads, "The marks of readers, or None.")
        .def("take_reads", &contexts::Context::take_reads,
             "Return the indexes of the readers that read since the last call, or None if a thread is inside.")
        .def(
            "address",
            [](const contexts::Context& c, std::uint32_t slot) {
                return reinterpret_cast<std::uintptr_t>(c.address(slot));
            },
            "slot"_a);
    m.def("read_scalar", &values::read_scalar, "kind"_a, "address"_a);
    m.def("read_list", &values::read_list, "element"_a, "element_size"_a, "address"_a);
}
