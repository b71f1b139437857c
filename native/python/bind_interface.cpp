// Python bindings of the table behind lookups from C++.
#include "image/library.hpp"
#include "interface/table.hpp"
#include "python/bindings.hpp"
#include "python/scope_block.hpp"

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

using Form = std::tuple<std::string, values::Kind, values::Kind, std::size_t>;
using Place = std::tuple<std::uint32_t, std::size_t, std::uintptr_t>;
using Setting = std::tuple<std::size_t, std::string, unsigned>;

interface::Place converted(const Place& place) {
    return std::apply([](auto... parts) { return interface::Place{parts...}; }, place);
}

void add_option(interface::Names& options, const std::vector<std::string>& names, const Form& form, const Place& value,
                const Place& object, const Setting& how_set, unsigned enum_size,
                const std::vector<std::string>& choices, const std::vector<std::uint64_t>& stored) {
    if (choices.size() != stored.size()) throw std::invalid_argument("expected a stored integer for each choice");
    const auto& [type, kind, element, element_size] = form;
    auto entry = std::make_unique<interface::OptionEntry>(names.at(0), type, kind, element, enum_size);
    entry->element_size = element_size;
    entry->value = converted(value);
    entry->object = converted(object);
    const auto& [own, reason, expected_index] = how_set;
    entry->own_names.assign(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(own));
    entry->reason = reason;
    entry->expected_index = expected_index;
    for (std::size_t i = 0; i < choices.size(); ++i) entry->choices.push_back({choices[i], stored[i]});
    options.add(std::move(entry), names);
}

void publish(values::Space& space, const image::Library& library, interface::Names& options) {
    interface::publish(std::make_unique<interface::Table>(space, library, std::exchange(options, {})));
}

}  // namespace

void add_interface(nb::module_& m) {
    nb::class_<interface::Names>(m, "LookupNames", "Options by name, for lookups from C++.")
        .def(nb::init<>())
        .def("add", &add_option, "names"_a, "form"_a, "value"_a, "object"_a, "how_set"_a, "enum_size"_a, "choices"_a,
             "stored"_a,
             "Add an option. `form`: (type, kind of the value, of its elements, bytes of a list's element). `value`, "
             "`object`: where to read them: (slot, offset in it) in a context, and the address in LLVM's own storage. "
             "`how_set`: (how many of the names are the option's own, why it cannot be set per thread, index of the "
             "virtual function that tells whether it takes a value, or 0). `choices`: names, each with the integer "
             "that is `stored` for it in `enum_size` bytes.");
    m.def("publish_lookups", &publish, "space"_a, "library"_a, "options"_a,
          "Make lookups from C++ find the library's options, for good. Empties `options`.");
    m.def("begin_lookups_with", of_image(&interface::begin_with), "image"_a,
          "Make this the image of lookups from C++ that name none. Its table has been published.");
}
