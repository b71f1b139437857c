#include "view/per_thread.hpp"

#include "view/context.hpp"
#include "view/gate.hpp"

#include <utility>

namespace optctx::view {
namespace {

class PerThread final : public Way {
public:
    bool admit_at_once(Frame& frame, const Frame*) override {
        if (frame.context->process_wide() != nullptr || !gate::try_enter()) return false;
        activate_or_dismiss(frame);
        return true;
    }

    void admit(Frame& frame, const Frame*) override {
        const std::shared_ptr<ProcessWide>& changes = frame.context->process_wide();
        if (changes == nullptr)
            gate::enter();
        else if (gate::close(changes->key()))
            put_in_force(changes);
        activate_or_dismiss(frame);
    }

    void leave(Frame& frame, const Frame*) noexcept override {
        deactivate(frame);
        dismiss(*frame.context);
    }

    bool begin_compilation_at_once(const Frame*) override { return gate::try_enter(); }
    void begin_compilation(const Frame*) override { gate::enter(); }
    void end_compilation(const Frame*) noexcept override { gate::leave(); }

    void after_fork_in_child(const Frame*) noexcept override {
        if (!gate::only_this_thread_lives()) return;
        if (in_force_ != nullptr) in_force_->undo();
        in_force_ = nullptr;
        gate::open();
    }

private:
    void activate_or_dismiss(Frame& frame) {
        try {
            activate(frame);
        } catch (...) {
            dismiss(*frame.context);
            throw;
        }
    }

    void put_in_force(const std::shared_ptr<ProcessWide>& changes) {
        try {
            changes->apply();
        } catch (...) {
            gate::changed(false);
            throw;
        }
        in_force_ = changes;
        gate::changed(true);
    }

    // The other way round from what let it in.
    void dismiss(const Context& context) noexcept {
        if (context.process_wide() == nullptr) {
            gate::leave();
        } else if (gate::last_out()) {
            in_force_->undo();
            in_force_ = nullptr;
            gate::open();
        }
    }

    // What is in force process-wide; guarded by the gate: only its first and its last closer touch it.
    std::shared_ptr<ProcessWide> in_force_;
};

}  // namespace

void activate(Frame& frame) {
    const unsigned image = frame.context->space().image();
    frame.activation = frame.context->acquire();
    frame.previous = current_view(image);
    set_current_view(image, frame.activation.front().activation->view());
}

void deactivate(Frame& frame) noexcept {
    set_current_view(frame.context->space().image(), frame.previous);
    frame.context->release(std::move(frame.activation));
}

Way& per_thread() noexcept {
    static auto* instance = new PerThread;  // outlives every thread
    return *instance;
}

void hand_over(Way& next) {
    if (&way() == &next) return;
    gate::close("the way of running");
    use(next);
    gate::changed(true);
    if (gate::last_out()) gate::open();
}

}  // namespace optctx::view
