// Python bindings of the table behind lookups from C++.
#include "image/library.hpp"
#include "intercept/bound_contexts.hpp"
#include "interface/interface.hpp"
#include "interface/table.hpp"
#include "python/bindings.hpp"
#include "python/callbacks.hpp"
#include "python/scope_block.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <stdexcept>
#include <tuple>

namespace nb = nanobind;
using namespace nb::literals;
using namespace optctx;

namespace {

// Python fills the table, then publishes it.
struct TableBuilder {
    std::unique_ptr<interface::Table> table;
};

// Does the same with the late options of an image whose table was published.
struct LateBuilder {
    const interface::Table* table;
    std::unique_ptr<interface::Names> names;
};

using Form = std::tuple<std::string, values::Kind, values::Kind, std::size_t>;
using Place = std::tuple<std::uint32_t, std::size_t, std::uintptr_t>;
using Setting = std::tuple<std::size_t, std::string, unsigned>;

interface::Place converted(const Place& place) {
    return std::apply([](auto... parts) { return interface::Place{parts...}; }, place);
}

std::unique_ptr<interface::OptionEntry> make_entry(const optctx_image& image, const std::vector<std::string>& names,
                                                   const Form& form, const Place& value, const Place& object,
                                                   const Setting& how_set, unsigned enum_size,
                                                   const std::vector<std::string>& choices,
                                                   const std::vector<std::uint64_t>& stored) {
    if (choices.size() != stored.size()) throw std::invalid_argument("expected a stored integer for each choice");
    const auto& [type, kind, element, element_size] = form;
    auto entry = std::make_unique<interface::OptionEntry>(image, names.at(0), type, kind, element, enum_size);
    entry->element_size = element_size;
    entry->value = converted(value);
    entry->object = converted(object);
    const auto& [own, reason, expected_index] = how_set;
    entry->own_names.assign(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(own));
    entry->reason = reason;
    entry->expected_index = expected_index;
    for (std::size_t i = 0; i < choices.size(); ++i) entry->choices.push_back({choices[i], stored[i]});
    return entry;
}

constexpr const char* about_add =
    "Add an option. `form`: (type, kind of the value, of its elements, bytes of a list's element). `value`, `object`: "
    "where to read them: (slot, offset in it) in a context, and the address in LLVM's own storage. `how_set`: (how "
    "many of the names are the option's own, why it cannot be set per thread, index of the virtual function that tells "
    "whether it takes a value, or 0). `choices`: names, each with the integer that is `stored` for it in `enum_size` "
    "bytes.";

}  // namespace

void add_interface(nb::module_& m) {
    interface::set_find_bound([](unsigned image, const void* llvm_context) -> std::shared_ptr<const contexts::Context> {
        const auto binding = bind::bound(image, llvm_context);
        return binding == nullptr ? nullptr : binding->context;
    });
    interface::set_let_in(&scoping::let_in_from_cpp);
    interface::set_take_in_late([](unsigned image) noexcept {
        callbacks::tell(callbacks::Callback::registered_late, [image] { return nb::make_tuple(image); });
    });
    nb::class_<TableBuilder>(m, "LookupTable", "Every option by name, for lookups from C++.")
        .def(
            "__init__",
            [](TableBuilder* self, values::Space& space, const image::Library& image,
               std::shared_ptr<image::LateOptions> late) {
                new (self) TableBuilder{std::make_unique<interface::Table>(
                    space, image.path(), image.build_id(), image.text_begin(), image.text_end(), std::move(late))};
            },
            "space"_a, "image"_a, "late"_a)
        .def(
            "add",
            [](TableBuilder& self, const std::vector<std::string>& names, const Form& form, const Place& value,
               const Place& object, const Setting& how_set, unsigned enum_size, const std::vector<std::string>& choices,
               const std::vector<std::uint64_t>& stored) {
                self.table->add(
                    make_entry(*self.table, names, form, value, object, how_set, enum_size, choices, stored), names);
            },
            "names"_a, "form"_a, "value"_a, "object"_a, "how_set"_a, "enum_size"_a, "choices"_a, "stored"_a, about_add)
        .def(
            "publish", [](TableBuilder& self) { interface::publish(std::move(self.table)); },
            "Make lookups from C++ find these options. Empties this table.");
    nb::class_<LateBuilder>(m, "LateLookups", "The late options of an image by name, for lookups from C++.")
        .def(
            "__init__",
            [](LateBuilder* self, unsigned index) {
                const interface::Table* table = interface::published(views::checked_image(index));
                if (table == nullptr) throw std::invalid_argument("the options of this image are not published yet");
                new (self) LateBuilder{table, std::make_unique<interface::Names>()};
            },
            "index"_a, "The image's own options were published.")
        .def(
            "add",
            [](LateBuilder& self, const std::vector<std::string>& names, const Form& form, const Place& value,
               const Place& object, const Setting& how_set, unsigned enum_size, const std::vector<std::string>& choices,
               const std::vector<std::uint64_t>& stored, const image::LateOption& late) {
                auto entry = make_entry(*self.table, names, form, value, object, how_set, enum_size, choices, stored);
                entry->late = late;
                self.names->add(std::move(entry), names);
            },
            "names"_a, "form"_a, "value"_a, "object"_a, "how_set"_a, "enum_size"_a, "choices"_a, "stored"_a, "late"_a,
            about_add)
        .def(
            "publish", [](LateBuilder& self) { self.table->replace_late(std::move(self.names)); },
            "Make lookups from C++ find these late options, and no others. Empties this object.");
    m.def(
        "begin_lookups_with", [](unsigned image) { interface::begin_with(views::checked_image(image)); }, "image"_a,
        "Make this the image of lookups from C++ that name none. Its table has been published.");
}
