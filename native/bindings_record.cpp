// Python bindings of recording: names and conversions.
#include "bindings.hpp"
#include "recording.hpp"
#include "view/poison.hpp"
#include "view/recorder.hpp"
#include "view/space.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <tuple>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;
using namespace optctx;

namespace {

using Under = std::pair<std::shared_ptr<view::Context>, std::vector<std::uint32_t>>;

std::vector<Under> seen_by(const view::Recorder& recorder) {
    std::vector<Under> all;
    for (const auto& seen : recorder.seen()) all.emplace_back(seen->context, seen->reads.readers());
    return all;
}

void prepare(const view::Space& space,
             const std::vector<std::tuple<std::uintptr_t, std::uint8_t, std::uint32_t>>& instructions) {
    std::vector<view::ReadingInstruction> converted;
    for (const auto& [address, base, reader] : instructions) converted.push_back({address, base, reader});
    view::prepare_poison(space.image(), space.layout(), std::move(converted));
}

}  // namespace

void add_record(nb::module_& m) {
    nb::exception<view::UnwatchedError>(m, "UnwatchedError", PyExc_RuntimeError);
    nb::class_<view::Recorder>(m, "Recorder", "Records what LLVM reads on one thread while its block is entered.")
        .def_static(
            "make", [](const view::Space& space) { return std::make_shared<view::Recorder>(space); }, "space"_a,
            "Make a recorder. Its block starts it.")
        .def("gather", &view::Recorder::gather, "Add what nested recorders have seen so far.")
        .def_prop_ro("complete", &view::Recorder::complete)
        .def_prop_ro("lost", &view::Recorder::lost, "Whether other code took over this thread's fault handling.")
        .def_prop_ro("seen", &seen_by, "[(context, or None outside every scope; indexes of the readers that read)].");
    recording::add_base(m);
    m.def(
        "active_recorders", [] { return sum_over_images(&view::active_recorders); },
        "Return the number of recording blocks in this process, on all threads.");
    m.def("prepare_recording", &prepare, "space"_a, "instructions"_a,
          "`instructions`: (address, number of the base register, reader) of each instruction that dereferences a "
          "reader's word.");
}
