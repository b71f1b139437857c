#include "engines/per_thread.hpp"

#include "contexts/context.hpp"
#include "engines/gate.hpp"

#include <optional>
#include <utility>

namespace optctx::engines {
namespace {

class PerThread final : public Engine {
public:
    bool admit_at_once(Frame& frame, const Frame*) override {
        if (frame.sight.view != nullptr) return show_again(frame);
        const std::shared_ptr<values::ProcessWide>& changes = frame.context->process_wide();
        if (changes == nullptr ? !gate::try_enter() : !gate::try_share(changes->key(), false)) return false;
        activate_or_dismiss(frame);
        return true;
    }

    void admit(Frame& frame, const Frame*) override {
        const std::shared_ptr<values::ProcessWide>& changes = frame.context->process_wide();
        if (changes == nullptr)
            gate::enter();
        else if (gate::close(changes->key()))
            put_in_force(changes);
        activate_or_dismiss(frame);
    }

    // Never waits: a thread that changes options process-wide may itself wait for what this thread holds. In that case
    // the frame is shown but not admitted.
    Carried carry(Frame& frame, const Frame*) override {
        if (frame.sight.view != nullptr) {
            show_again(frame);
            return Carried::fully;
        }
        const std::shared_ptr<values::ProcessWide>& changes = frame.context->process_wide();
        if (changes == nullptr ? gate::try_enter() : gate::try_share(changes->key(), true)) {
            activate_or_dismiss(frame);
            return Carried::fully;
        }
        activate(frame);
        return changes == nullptr ? Carried::fully : Carried::without_process_wide;
    }

    void leave(Frame& frame, const Frame*, Frame* above) noexcept override {
        if (above != nullptr) {
            above->previous = frame.previous;
        } else {
            if (!frame.activation.empty()) frame.activation.front().activation->give_up();
            contexts::show(frame.image, frame.previous);
        }
        if (!frame.activation.empty()) contexts::release(*frame.context, std::move(frame.activation));
        if (frame.admitted) dismiss(*frame.context);
    }

    bool shows_any() const noexcept override { return true; }
    void show(unsigned image, const Frame* frame) noexcept override {
        contexts::show(image, frame == nullptr ? contexts::Sight{views::identity_view(image)} : frame->sight);
    }

    bool begin_compilation_at_once(const Frame*) override { return gate::try_enter(); }
    void begin_compilation(const Frame*) override { gate::enter(); }
    void end_compilation(const Frame*) noexcept override { gate::leave(); }

    void after_fork_in_child(const Frame*) noexcept override {
        const std::optional<unsigned> image = gate::only_this_thread_lives();
        if (!image) return;
        values::undo_process_wide(*image);  // if the thread that closed the gate had made its changes
        gate::open();
    }

private:
    static bool show_again(Frame& frame) noexcept {
        frame.previous = contexts::sight(frame.image);
        contexts::show(frame.image, frame.sight);
        return true;
    }

    static void activate_or_dismiss(Frame& frame) {
        try {
            activate(frame);
        } catch (...) {
            dismiss(*frame.context);
            throw;
        }
        frame.admitted = true;
    }

    static void put_in_force(const std::shared_ptr<values::ProcessWide>& changes) {
        try {
            changes->apply();
        } catch (...) {
            gate::changed(false);
            throw;
        }
        gate::changed(true);
    }

    // Reverses the admission.
    static void dismiss(const contexts::Context& context) noexcept {
        if (context.process_wide() == nullptr) {
            gate::leave();
        } else if (gate::last_out()) {
            values::undo_process_wide(context.space().image());
            gate::open();
        }
    }
};

auto& instance = *new PerThread;  // outlives every thread

}  // namespace

void activate(Frame& frame) {
    frame.previous = contexts::sight(frame.image);
    frame.activation = contexts::acquire(*frame.context);
    frame.sight = frame.activation.front().activation->sight();
    contexts::show(frame.image, frame.sight);
}

Engine& per_thread() noexcept { return instance; }

}  // namespace optctx::engines
