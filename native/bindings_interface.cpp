// Python bindings of the table behind lookups from C++.
#include "bind/table.hpp"
#include "bindings.hpp"
#include "image/elf.hpp"
#include "interface/interface.hpp"
#include "interface/table.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace nb::literals;
using namespace optctx;

namespace {

// Python fills the table, then publishes it.
struct TableBuilder {
    std::unique_ptr<interface::Table> table;
};

void add(TableBuilder& builder, const std::vector<std::string>& names, const std::string& type,
         std::pair<view::Kind, view::Kind> kinds, std::pair<std::size_t, unsigned> sizes, const interface::Place& value,
         const interface::Place& object, const std::vector<std::pair<std::string, std::uint64_t>>& choices) {
    auto entry = std::make_unique<interface::OptionEntry>(*builder.table, names.at(0), type, kinds.first, kinds.second,
                                                          sizes.second);
    entry->element_size = sizes.first;
    entry->value = value;
    entry->object = object;
    for (const auto& [name, stored] : choices) entry->choices.push_back({name, stored});
    builder.table->add(std::move(entry), names);
}

}  // namespace

void add_interface(nb::module_& m) {
    interface::set_find_bound([](unsigned image, const void* llvm_context) -> std::shared_ptr<const view::Context> {
        const auto binding = bind::bound(image, llvm_context);
        return binding == nullptr ? nullptr : binding->context;
    });
    nb::class_<interface::Place>(m, "Place", "Where to read a value: in a context, and in LLVM's own storage.")
        .def(
            "__init__",
            [](interface::Place* self, std::uint32_t slot, std::size_t offset, std::uintptr_t live) {
                new (self) interface::Place{slot, offset, live};
            },
            "slot"_a, "offset"_a, "live"_a);
    nb::class_<TableBuilder>(m, "LookupTable", "Every option by name, for lookups from C++.")
        .def(
            "__init__",
            [](TableBuilder* self, unsigned index, const image::Image& image) {
                new (self) TableBuilder{std::make_unique<interface::Table>(index, image.path(), image.build_id(),
                                                                           image.text_begin(), image.text_end())};
            },
            "index"_a, "image"_a)
        .def("add", &add, "names"_a, "type"_a, "kinds"_a, "sizes"_a, "value"_a, "object"_a, "choices"_a,
             "Add an option. `kinds`: of the value, of its elements. `sizes`: bytes of a list's element, bytes of an "
             "enum. `choices`: (name, stored integer).")
        .def(
            "publish", [](TableBuilder& self) { interface::publish(std::move(self.table)); },
            "Make lookups from C++ find these options. Empties this table.");
    m.def(
        "begin_lookups_with", [](unsigned image) { interface::begin_with(view::checked_image(image)); }, "image"_a,
        "Make this the image of lookups from C++ that name none. Its table has been published.");
}
