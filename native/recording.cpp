#include "recording.hpp"

#include "scoping.hpp"
#include "view/attachment.hpp"
#include "view/recorder.hpp"

#include <nanobind/stl/shared_ptr.h>

#include <memory>

namespace nb = nanobind;

namespace optctx::recording {
namespace {

std::shared_ptr<view::Recorder> recorder_of(nb::handle log) {
    return nb::cast<std::shared_ptr<view::Recorder>>(log.attr("_recorder"));
}

nb::object enter(nb::handle self, view::Ticket ticket) {
    nb::object log = blocks::call_method(self, "_prepare");
    const std::shared_ptr<view::Recorder> recorder = recorder_of(log);
    for (;;) {
        if (!view::is_attached(recorder->image())) scoping::attach(recorder->image());
        try {
            recorder->start(ticket);
        } catch (const view::UnwatchedError& error) {
            blocks::raise(blocks::call_method(self, "_cannot_start", error.what()));
        }
        if (view::is_attached(recorder->image())) return log;
        recorder->stop();  // another thread detached before this one was counted; attach again
    }
}

void leave(nb::handle self, bool) {
    try {
        recorder_of(self.attr("_log"))->stop();
    } catch (const view::ScopeError& error) {
        blocks::raise(blocks::call_method(self, "_cannot_stop", error.what()));
    }
    blocks::call_method(self, "_finish");
}

void abandon(nb::handle, view::Ticket ticket) noexcept {
    if (view::is_of_this_thread(ticket))
        view::Recorder::abandon(ticket);
    else
        view::post_abandoned(ticket);
}

constexpr blocks::Kind block{&enter, &leave, &abandon};

}  // namespace

void add_base(nb::handle module) { blocks::add_methods<block>(blocks::make_type(module, "RecordingBase", {})); }

}  // namespace optctx::recording
