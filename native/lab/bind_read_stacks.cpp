// Call stacks of the first reads in a recording.
#include "lab/read_stacks.hpp"
#include "python/bindings.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;
using namespace optctx;

namespace {

using Call = std::tuple<std::uintptr_t, std::uintptr_t, std::uintptr_t>;
using Use = std::tuple<std::uintptr_t, std::uintptr_t, std::uint8_t, bool>;
using Stack = std::tuple<std::uint32_t, std::vector<std::uintptr_t>, bool>;

std::shared_ptr<lab::ReadStacks> make(const values::Space& space, const std::vector<Call>& calls,
                                      const std::vector<Use>& uses, std::pair<std::uintptr_t, std::uintptr_t> thunks) {
    lab::MadeCode made;
    for (const auto& [begin, end, site] : calls) made.calls.push_back({begin, end, site});
    for (const auto& [address, site, scratch, saved] : uses) made.uses.push_back({address, site, scratch, saved});
    std::sort(made.calls.begin(), made.calls.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
    std::sort(made.uses.begin(), made.uses.end(), [](const auto& a, const auto& b) { return a.address < b.address; });
    std::tie(made.thunks_begin, made.thunks_end) = thunks;
    return std::make_shared<lab::ReadStacks>(space.image(), space.layout()->readers().size(), std::move(made));
}

std::vector<Stack> stacks_of(const lab::ReadStacks& of) {
    std::vector<Stack> all;
    for (const auto& each : of.stacks())
        all.emplace_back(each.reader, std::vector(each.addresses.begin(), each.addresses.end()), each.whole);
    return all;
}

}  // namespace

void add_read_stacks(nb::module_& m) {
    nb::class_<lab::ReadStacks>(m, "ReadStacks", "The call stack of the first read of each reader, on one thread.")
        .def_static("make", &make, "space"_a, "calls"_a, "uses"_a, "thunks"_a,
                    "Make an object without stacks. `calls`: (begin, end, site) of the code that calls a function in "
                    "place of an instruction. `uses`: (address, site, number of the register, whether it is on the "
                    "stack) of each instruction of a trampoline that uses a word of a view. `thunks`: where they begin "
                    "and end.")
        .def("start", &lab::ReadStacks::start, "Keep the stacks of what this thread reads while it is recorded.")
        .def(
            "stop", [](lab::ReadStacks&) { lab::ReadStacks::stop(); }, "Stop what this thread started last.")
        .def_prop_ro(
            "stacks", &stacks_of,
            "[(index of the reader; an address in each frame, its own first; whether outer frames are there)].")
        .def_prop_ro("complete", &lab::ReadStacks::complete, "Whether there was room for the stack of every reader.");
}
