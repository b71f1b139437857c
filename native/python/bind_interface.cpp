// Python bindings of the table behind the C interface.
#include "image/library.hpp"
#include "interface/table.hpp"
#include "python/bindings.hpp"

namespace {

using Names = std::vector<std::string>;
using Row = std::tuple<Names, std::size_t, values::Kind, std::uint32_t, std::size_t, std::uintptr_t, std::uint32_t,
                       std::uintptr_t, std::string, unsigned, Names, std::vector<std::uint64_t>, std::uint32_t>;

void publish(values::Space& space, const image::Library& library, std::vector<Row> rows) {
    std::vector<interface::Option> options;
    for (Row& row : rows)
        options.push_back(std::apply([](auto&... parts) { return interface::Option{std::move(parts)...}; }, row));
    interface::publish(space, library, std::move(options));
}

}  // namespace

void add_interface(nb::module_& m) {
    m.def("publish_lookups", &publish, "space"_a, "library"_a, "options"_a,
          "Make C++ code find the library's options, for good. Each is what interface::Option says.");
    m.def("begin_lookups_with", of_image(&interface::begin_with), "image"_a,
          "Make this the image of C++ code that names none. Its table has been published.");
}
