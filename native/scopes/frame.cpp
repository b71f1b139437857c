#include "scopes/frame.hpp"

#include "contexts/context.hpp"

#include <utility>

namespace optctx::scopes {

void activate(Frame& frame) {
    frame.previous = views::current_view(frame.image);
    if (frame.view == nullptr) {
        frame.activation = contexts::acquire(*frame.context);
        frame.view = frame.activation.front().activation->view();
    }
    views::set_current_view(frame.image, frame.view);
}

void leave(Frame& frame, Frame* above) noexcept {
    if (above != nullptr)
        above->previous = frame.previous;
    else
        views::set_current_view(frame.image, frame.previous);
    if (!frame.activation.empty()) contexts::release(*frame.context, std::move(frame.activation));
}

void show(unsigned image, const Frame* frame) noexcept {
    views::set_current_view(image, frame == nullptr ? views::identity_view(image) : frame->view);
}

}  // namespace optctx::scopes
