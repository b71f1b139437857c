// Blocks that record what LLVM reads, and what their recorders have seen.
#include "python/bindings.hpp"
#include "python/block.hpp"
#include "python/scope_block.hpp"
#include "scopes/recorder.hpp"
#include "views/poison.hpp"

namespace {

std::shared_ptr<scopes::Recorder> recorder_of(nb::handle log) {
    return nb::cast<std::shared_ptr<scopes::Recorder>>(log.attr("_recorder"));
}

nb::object enter_recording(nb::handle self) {
    nb::object log = blocks::call_method(self, "_prepare");
    const std::shared_ptr<scopes::Recorder> recorder = recorder_of(log);
    for (;;) {
        if (!views::is_attached(recorder->image())) scoping::attach(recorder->image());
        try {
            recorder->start();
        } catch (const views::UnwatchedError& error) {
            blocks::raise(blocks::call_method(self, "_cannot_start", error.what()));
        }
        if (views::is_attached(recorder->image())) return log;
        recorder->stop();  // another thread detached before this one was counted; attach again
    }
}

void leave_recording(nb::handle self, bool) {
    const nb::object log = self.attr("_log");
    if (log.is_none()) blocks::raise(blocks::call_method(self, "_cannot_stop", "it was not entered"));
    try {
        recorder_of(log)->stop();
    } catch (const contexts::ScopeError& error) {
        blocks::raise(blocks::call_method(self, "_cannot_stop", error.what()));
    }
    blocks::call_method(log, "_end");
}

constexpr blocks::Kind recording_block{&enter_recording, &leave_recording};

using Under = std::pair<std::shared_ptr<contexts::Context>, std::vector<std::uint32_t>>;

std::vector<Under> seen_by(const scopes::Recorder& recorder) {
    std::vector<Under> all;
    for (const auto& seen : recorder.seen()) all.emplace_back(seen->context, recorder.readers(*seen));
    return all;
}

}  // namespace

void add_reads(nb::module_& m) {
    nb::exception<views::UnwatchedError>(m, "UnwatchedError", PyExc_RuntimeError);
    nb::class_<scopes::Recorder>(m, "Recorder", "Records what LLVM reads on one thread while its block is entered.")
        .def_static(
            "make", [](const values::Space& space) { return std::make_shared<scopes::Recorder>(space); }, "space"_a,
            "Make a recorder. Its block starts it.")
        .def("only", &scopes::Recorder::only, "readers"_a,
             "Before the block: leave out the reads of all readers but these, unless an enclosing block wants more.")
        .def("gather", &scopes::Recorder::gather, "Add what nested recorders have seen so far.")
        .def_prop_ro("lost", &scopes::Recorder::lost, "Whether other code took over this thread's fault handling.")
        .def_prop_ro("seen", &seen_by, "[(context, or None outside every scope; indexes of the readers that read)].");
    blocks::add_type<recording_block>(m, "RecordingBase");
}
