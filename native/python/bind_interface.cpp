// Python bindings of the table behind lookups from C++.
#include "image/library.hpp"
#include "interface/interface.hpp"
#include "interface/table.hpp"
#include "python/bindings.hpp"
#include "python/callbacks.hpp"
#include "python/scope_block.hpp"

#include <nanobind/stl/optional.h>
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

using Form = std::tuple<std::string, values::Kind, values::Kind, std::size_t>;
using Place = std::tuple<std::uint32_t, std::size_t, std::uintptr_t>;
using Setting = std::tuple<std::size_t, std::string, unsigned>;

interface::Place converted(const Place& place) {
    return std::apply([](auto... parts) { return interface::Place{parts...}; }, place);
}

void add_option(interface::Names& options, const std::vector<std::string>& names, const Form& form, const Place& value,
                const Place& object, const Setting& how_set, unsigned enum_size,
                const std::vector<std::string>& choices, const std::vector<std::uint64_t>& stored,
                std::optional<image::LateOption> late) {
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
    entry->late = std::move(late);
    options.add(std::move(entry), names);
}

void publish(values::Space& space, const image::Library& library, std::shared_ptr<const image::LateOptions> late,
             interface::Names& options) {
    interface::publish(std::make_unique<interface::Table>(space, library, std::exchange(options, {}), std::move(late)));
}

void publish_late(unsigned image, interface::Names& options) {
    const interface::Table* table = interface::published(views::checked_image(image));
    if (table == nullptr) throw std::invalid_argument("the options of this image are not published yet");
    table->replace_late(std::exchange(options, {}));
}

void take_in_late(unsigned image) noexcept {
    callbacks::tell(callbacks::Callback::registered_late, [image] { return nb::make_tuple(image); });
}

}  // namespace

void add_interface(nb::module_& m) {
    interface::use(&scoping::let_in_from_cpp, &take_in_late);
    nb::class_<interface::Names>(m, "LookupNames", "Options by name, for lookups from C++.")
        .def(nb::init<>())
        .def("add", &add_option, "names"_a, "form"_a, "value"_a, "object"_a, "how_set"_a, "enum_size"_a, "choices"_a,
             "stored"_a, "late"_a.none() = nb::none(),
             "Add an option. `form`: (type, kind of the value, of its elements, bytes of a list's element). `value`, "
             "`object`: where to read them: (slot, offset in it) in a context, and the address in LLVM's own storage. "
             "`how_set`: (how many of the names are the option's own, why it cannot be set per thread, index of the "
             "virtual function that tells whether it takes a value, or 0). `choices`: names, each with the integer "
             "that is `stored` for it in `enum_size` bytes. `late`: how to tell whether the option is still there.");
    m.def("publish_lookups", &publish, "space"_a, "library"_a, "late"_a, "options"_a,
          "Make lookups from C++ find the library's own options, for good. Empties `options`. `late`: where to look "
          "for options that are registered later.");
    m.def("publish_late_lookups", &publish_late, "image"_a, "options"_a,
          "Make lookups from C++ find these late options, and no others, after `publish_lookups`. Empties `options`.");
    m.def("begin_lookups_with", of_image(&interface::begin_with), "image"_a,
          "Make this the image of lookups from C++ that name none. Its table has been published.");
}
