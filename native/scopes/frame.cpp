#include "scopes/frame.hpp"

#include "contexts/context.hpp"
#include "scopes/gate.hpp"

#include <optional>
#include <utility>

namespace optctx::scopes {
namespace {

using SharedChanges = std::shared_ptr<values::ProcessWide>;

bool show_again(Frame& frame) noexcept {
    frame.previous = views::current_view(frame.image);
    views::set_current_view(frame.image, frame.view);
    return true;
}

// Reverses the admission.
void dismiss(const contexts::Context& context) noexcept {
    if (context.process_wide() == nullptr) {
        gate::leave();
    } else if (gate::last_out()) {
        values::undo_process_wide(context.space().image());
        gate::open();
    }
}

void activate_or_dismiss(Frame& frame) {
    try {
        activate(frame);
    } catch (...) {
        dismiss(*frame.context);
        throw;
    }
    frame.admitted = true;
}

void put_in_force(const SharedChanges& changes) {
    try {
        changes->apply();
    } catch (...) {
        gate::changed(false);
        throw;
    }
    gate::changed(true);
}

}  // namespace

void activate(Frame& frame) {
    frame.previous = views::current_view(frame.image);
    frame.activation = contexts::acquire(*frame.context);
    frame.view = frame.activation.front().activation->view();
    views::set_current_view(frame.image, frame.view);
}

bool admit_at_once(Frame& frame) {
    if (frame.view != nullptr) return show_again(frame);
    const SharedChanges& changes = frame.context->process_wide();
    if (changes == nullptr ? !gate::try_enter() : !gate::try_share(changes->key(), false)) return false;
    activate_or_dismiss(frame);
    return true;
}

void admit(Frame& frame) {
    const SharedChanges& changes = frame.context->process_wide();
    if (changes == nullptr)
        gate::enter();
    else if (gate::close(changes->key()))
        put_in_force(changes);
    activate_or_dismiss(frame);
}

Carried carry(Frame& frame) {
    if (frame.view != nullptr) {
        show_again(frame);
        return Carried::fully;
    }
    const SharedChanges& changes = frame.context->process_wide();
    if (changes == nullptr ? gate::try_enter() : gate::try_share(changes->key(), true)) {
        activate_or_dismiss(frame);
        return Carried::fully;
    }
    activate(frame);
    return changes == nullptr ? Carried::fully : Carried::without_process_wide;
}

void leave(Frame& frame, Frame* above) noexcept {
    if (above != nullptr)
        above->previous = frame.previous;
    else
        views::set_current_view(frame.image, frame.previous);
    if (!frame.activation.empty()) contexts::release(*frame.context, std::move(frame.activation));
    if (frame.admitted) dismiss(*frame.context);
}

void show(unsigned image, const Frame* frame) noexcept {
    views::set_current_view(image, frame == nullptr ? views::identity_view(image) : frame->view);
}

void open_gate_after_fork() noexcept {
    const std::optional<unsigned> image = gate::only_this_thread_lives();
    if (!image) return;
    values::undo_process_wide(*image);  // if the thread that closed the gate had made its changes
    gate::open();
}

}  // namespace optctx::scopes
