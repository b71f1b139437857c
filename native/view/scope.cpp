// The stack of scopes of each thread.
#include "view/context.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

namespace optctx::view {
namespace {

struct Frame {
    std::shared_ptr<Context> context;
    ActivationPool::Node activation;
    View previous;
    void* owner;
};

std::atomic<std::size_t> active{0};
std::mutex orphan_mutex;
std::vector<void*>& orphans() {
    static auto* list = new std::vector<void*>;  // outlives every thread
    return *list;
}

struct Stack {
    std::vector<Frame> frames;

    // A thread that ends inside scopes leaves them, innermost first.
    ~Stack() {
        while (!frames.empty()) {
            const std::lock_guard lock(orphan_mutex);
            orphans().push_back(pop());
        }
    }

    void* pop() {
        Frame frame = std::move(frames.back());
        frames.pop_back();
        set_current_view(frame.context->space().image(), frame.previous);
        active.fetch_sub(1, std::memory_order_relaxed);
        frame.context->release(std::move(frame.activation));
        return frame.owner;
    }
};

thread_local Stack stack;

}  // namespace

void enter(const std::shared_ptr<Context>& context, void* owner) {
    const unsigned image = context->space().image();
    stack.frames.push_back({context, context->acquire(), current_view(image), owner});
    active.fetch_add(1, std::memory_order_relaxed);
    set_current_view(image, stack.frames.back().activation.front().activation->view());
}

void* leave(const Context& context) {
    auto& frames = stack.frames;
    if (!frames.empty() && frames.back().context.get() == &context) return stack.pop();
    const bool outer =
        std::any_of(frames.begin(), frames.end(), [&](const Frame& frame) { return frame.context.get() == &context; });
    if (outer) throw ScopeError("it is not the innermost scope of this thread: scopes entered after it are still open");
    throw ScopeError(
        "this thread is not inside it: it was not entered, was left already, or was entered on another thread");
}

void* current_owner(unsigned image) noexcept {
    const auto& frames = stack.frames;
    const auto found = std::find_if(frames.rbegin(), frames.rend(),
                                    [image](const Frame& frame) { return frame.context->space().image() == image; });
    return found == frames.rend() ? nullptr : found->owner;
}

std::size_t active_scopes() noexcept { return active.load(std::memory_order_relaxed); }

std::vector<void*> take_orphans() {
    const std::lock_guard lock(orphan_mutex);
    return std::exchange(orphans(), {});
}

}  // namespace optctx::view
