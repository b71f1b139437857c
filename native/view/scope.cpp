// The stack of scopes of each thread.
#include "view/context.hpp"
#include "view/gate.hpp"

#include "os/os.hpp"

#include <pthread.h>

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
    bool borrowed;  // the owner is somebody else's, and the gate was not asked
};

std::atomic<std::size_t> active{0};
std::mutex orphan_mutex;
std::vector<void*>& orphans() {
    static auto* list = new std::vector<void*>;  // outlives every thread
    return *list;
}

// What is in force process-wide; guarded by the gate: only its first and its last closer touch it.
std::shared_ptr<ProcessWide>& in_force() {
    static auto* changes = new std::shared_ptr<ProcessWide>;
    return *changes;
}

// The other way round from admit.
void dismiss(const Context& context) {
    if (context.process_wide() == nullptr) {
        gate::leave();
    } else if (gate::last_out()) {
        in_force()->undo();
        in_force() = nullptr;
        gate::open();
    }
}

struct Stack {
    std::vector<Frame> frames;

    // A thread that ends inside scopes leaves them, innermost first.
    ~Stack() {
        while (!frames.empty()) {
            const bool borrowed = frames.back().borrowed;
            void* owner = pop();
            if (!borrowed) add_orphan(owner);
        }
    }

    void* pop() {
        Frame frame = std::move(frames.back());
        frames.pop_back();
        set_current_view(frame.context->space().image(), frame.previous);
        active.fetch_sub(1, std::memory_order_relaxed);
        frame.context->release(std::move(frame.activation));
        if (!frame.borrowed) dismiss(*frame.context);
        return frame.owner;
    }

    const Frame* innermost(unsigned image) const noexcept {
        const auto found = std::find_if(frames.rbegin(), frames.rend(), [image](const Frame& frame) {
            return frame.context->space().image() == image;
        });
        return found == frames.rend() ? nullptr : &*found;
    }
};

thread_local Stack stack;

void push(const std::shared_ptr<Context>& context, void* owner, bool borrowed) {
    const unsigned image = context->space().image();
    stack.frames.push_back({context, context->acquire(), current_view(image), owner, borrowed});
    active.fetch_add(1, std::memory_order_relaxed);
    set_current_view(image, stack.frames.back().activation.front().activation->view());
}

void after_fork_in_child() {
    active = stack.frames.size();
    if (!gate::only_this_thread_lives()) return;
    if (in_force() != nullptr) in_force()->undo();
    in_force() = nullptr;
    gate::open();
}

}  // namespace

void watch_forks() {
    static const int registered = pthread_atfork(nullptr, nullptr, after_fork_in_child);
    if (registered != 0) throw os::OsError("pthread_atfork", 0, registered);
}

bool admit_at_once(const Context& context) noexcept { return context.process_wide() == nullptr && gate::try_enter(); }

void admit(const Context& context) {
    if (context.process_wide() == nullptr) return gate::enter();
    if (!gate::close(context.process_wide()->key())) return;
    try {
        context.process_wide()->apply();
        in_force() = context.process_wide();
    } catch (...) {
        gate::changed(false);
        throw;
    }
    gate::changed(true);
}

void enter(const std::shared_ptr<Context>& context, void* owner) {
    try {
        push(context, owner, false);
    } catch (...) {
        dismiss(*context);
        throw;
    }
}

void enter_borrowed(const std::shared_ptr<Context>& context, void* owner) { push(context, owner, true); }

void leave_borrowed() noexcept { stack.pop(); }

void* leave(const Context& context) {
    auto& frames = stack.frames;
    if (!frames.empty() && frames.back().context.get() == &context) return stack.pop();
    const bool outer =
        std::any_of(frames.begin(), frames.end(), [&](const Frame& frame) { return frame.context.get() == &context; });
    if (outer) throw ScopeError("it is not the innermost scope of this thread: scopes entered after it are still open");
    throw ScopeError(
        "this thread is not inside it: it was not entered, was left already, or was entered on another thread");
}

const Context* current_context(unsigned image) noexcept {
    const Frame* frame = stack.innermost(image);
    return frame == nullptr ? nullptr : frame->context.get();
}

void* current_owner(unsigned image) noexcept {
    const Frame* frame = stack.innermost(image);
    return frame == nullptr ? nullptr : frame->owner;
}

std::size_t active_scopes() noexcept { return active.load(std::memory_order_relaxed); }

void add_orphan(void* owner) noexcept {
    const std::lock_guard lock(orphan_mutex);
    orphans().push_back(owner);
}

std::vector<void*> take_orphans() {
    const std::lock_guard lock(orphan_mutex);
    return std::exchange(orphans(), {});
}

}  // namespace optctx::view
