#include "python/record_block.hpp"

#include "python/scope_block.hpp"
#include "scopes/recorder.hpp"
#include "views/per_image.hpp"

#include <nanobind/stl/shared_ptr.h>

#include <memory>

namespace nb = nanobind;

namespace optctx::recording {
namespace {

std::shared_ptr<scopes::Recorder> recorder_of(nb::handle log) {
    return nb::cast<std::shared_ptr<scopes::Recorder>>(log.attr("_recorder"));
}

nb::object enter(nb::handle self, scopes::Ticket ticket) {
    nb::object log = blocks::call_method(self, "_prepare");
    const std::shared_ptr<scopes::Recorder> recorder = recorder_of(log);
    for (;;) {
        if (!views::is_attached(recorder->image())) scoping::attach(recorder->image());
        try {
            recorder->start(ticket);
        } catch (const views::UnwatchedError& error) {
            blocks::raise(blocks::call_method(self, "_cannot_start", error.what()));
        }
        if (views::is_attached(recorder->image())) return log;
        recorder->stop();  // another thread detached before this one was counted; attach again
    }
}

void leave(nb::handle self, bool) {
    try {
        recorder_of(self.attr("_log"))->stop();
    } catch (const contexts::ScopeError& error) {
        blocks::raise(blocks::call_method(self, "_cannot_stop", error.what()));
    }
    blocks::call_method(self, "_finish");
}

void abandon(nb::handle, scopes::Ticket ticket) noexcept {
    if (scopes::is_of_this_thread(ticket))
        scopes::Recorder::abandon(ticket);
    else
        scopes::post_abandoned(ticket);
}

constexpr blocks::Kind block{&enter, &leave, &abandon};

}  // namespace

void add_base(nb::handle module) { blocks::add_methods<block>(blocks::make_type(module, "RecordingBase", {})); }

}  // namespace optctx::recording
