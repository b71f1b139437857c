// The scopes of each thread.
#include "view/scope.hpp"

#include "os/os.hpp"
#include "view/gate.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace optctx::view {
namespace {

struct Shown {
    Mark mark = nullptr;
    View view = nullptr;
};

struct Frame {
    std::shared_ptr<Context> context;  // null: shows another frame's values, or LLVM's own
    ActivationPool::Node activation;
    Entry entry;
    unsigned image;
    Shown own;
    Shown previous;
    bool admitted;
    std::size_t call;  // 0: a scope; else which of the calls under way it was made for
};

std::atomic<std::size_t> active{0};
std::atomic<bool> follows{false};
std::mutex orphan_mutex;
std::atomic<bool> orphaned{false};
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

Frame make_frame(const std::shared_ptr<Context>& context, Entry entry, bool admitted, std::size_t call) {
    const unsigned image = context->space().image();
    ActivationPool::Node activation = context->acquire();
    const View view = activation.front().activation->view();
    active.fetch_add(1, std::memory_order_relaxed);
    return {context, std::move(activation), entry, image, {entry.mark, view}, {}, admitted, call};
}

Entry finish(Frame&& frame) {
    if (frame.context != nullptr) {
        active.fetch_sub(1, std::memory_order_relaxed);
        frame.context->release(std::move(frame.activation));
        if (frame.admitted) dismiss(*frame.context);
    }
    return frame.entry;
}

struct Stack {
    std::vector<Frame> frames;
    std::optional<Frame> carried;  // while switches are followed: what the running task was inside of elsewhere
    Mark shown = nullptr;
    std::size_t calls = 0;    // into LLVM, under way
    std::size_t bridged = 0;  // of these, with a frame

    // A thread that ends inside scopes leaves them, innermost first.
    ~Stack() {
        while (!frames.empty()) abandon(take(std::prev(frames.end())));
        if (carried) abandon(finish(*std::exchange(carried, std::nullopt)));
    }

    static void abandon(Entry entry) {
        const std::lock_guard lock(orphan_mutex);
        orphaned = true;
        for (void* reference : {entry.mark, entry.token})
            if (reference != nullptr) orphans().push_back(reference);
    }

    void show(unsigned image, Shown what) noexcept {
        shown = what.mark;
        set_current_view(image, what.view);
    }

    void push(Frame frame) {
        frame.previous = {shown, current_view(frame.image)};
        frames.push_back(std::move(frame));
        show(frames.back().image, frames.back().own);
    }

    // Takes a frame out; what it shows is not shown any more.
    Entry take(std::vector<Frame>::iterator at) {
        Frame frame = std::move(*at);
        const auto above = frames.erase(at);
        if (above != frames.end())
            above->previous = frame.previous;
        else if (!follows_switches() || frame.call != 0)
            show(frame.image, frame.previous);
        if (shown == frame.own.mark && follows_switches() && frame.call == 0)
            show(frame.image, {nullptr, identity_view(frame.image)});
        return finish(std::move(frame));
    }

    // The scope of a mark, or the end.
    std::vector<Frame>::iterator find(Mark mark) noexcept {
        return std::find_if(frames.begin(), frames.end(),
                            [mark](const Frame& f) { return f.call == 0 && f.entry.mark == mark; });
    }

    std::vector<Frame>::iterator find_to_leave(const Context& context, Mark task) noexcept {
        const auto own = [&](const Frame& f) { return f.call == 0 && f.context.get() == &context; };
        if (!follows_switches()) {
            if (frames.empty() || !own(frames.back())) return frames.end();
            return std::prev(frames.end());
        }
        if (const auto at = find(task); at != frames.end()) return own(*at) ? at : frames.end();
        const auto last = std::find_if(frames.rbegin(), frames.rend(), own);
        return last == frames.rend() ? frames.end() : std::prev(last.base());
    }
};

thread_local Stack stack;

void after_fork_in_child() {
    active = stack.frames.size() + (stack.carried ? 1 : 0);
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

bool admit_carried(const Context& context) noexcept {
    return context.process_wide() == nullptr ? gate::try_enter() : gate::try_share(context.process_wide()->key());
}

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

bool in_line(Mark task) noexcept { return stack.shown == task; }

Entry innermost() noexcept {
    const auto at = stack.find(stack.shown);
    return at == stack.frames.end() || at != std::prev(stack.frames.end()) ? Entry{} : at->entry;
}

void enter(const std::shared_ptr<Context>& context, Entry entry) {
    try {
        stack.push(make_frame(context, entry, true, 0));
    } catch (...) {
        dismiss(*context);
        throw;
    }
}

Entry to_leave(const Context& context, Mark task) {
    auto& frames = stack.frames;
    if (const auto at = stack.find_to_leave(context, task); at != frames.end()) return at->entry;
    const bool outer =
        std::any_of(frames.begin(), frames.end(), [&](const Frame& frame) { return frame.context.get() == &context; });
    if (outer) throw ScopeError("it is not the innermost scope of this thread: scopes entered after it are still open");
    throw ScopeError(
        "this thread is not inside it: it was not entered, was left already, or was entered on another thread");
}

void leave(Mark mark) noexcept { stack.take(stack.find(mark)); }

Begun begin_call(Mark mark) {
    ++stack.calls;
    if (stack.shown == mark) return {true, false};
    const auto at = stack.find(mark);
    if (mark != nullptr && at == stack.frames.end()) return {false, false};
    // What is shown was entered here, so there is a frame to take the image from.
    const unsigned image = mark != nullptr ? at->image : stack.frames.back().image;
    const View view = mark != nullptr ? at->own.view : identity_view(image);
    stack.push({nullptr, {}, {mark, nullptr}, image, {mark, view}, {}, false, stack.calls});
    ++stack.bridged;
    return {true, true};
}

void carry(Mark mark, const std::shared_ptr<Context>& context, bool admitted) {
    try {
        stack.push(make_frame(context, {mark, nullptr}, admitted, stack.calls));
    } catch (...) {
        if (admitted) dismiss(*context);
        throw;
    }
    ++stack.bridged;
}

Mark end_call() noexcept {
    if (stack.calls == 0) return nullptr;  // began before anybody counted
    const std::size_t call = stack.calls--;
    if (stack.bridged == 0) return nullptr;
    auto& frames = stack.frames;
    const auto at = std::find_if(frames.begin(), frames.end(), [call](const Frame& f) { return f.call == call; });
    if (at == frames.end()) return nullptr;
    --stack.bridged;
    return stack.take(at).mark;
}

void follow_switches(bool follow) noexcept { follows = follow; }
bool follows_switches() noexcept { return follows.load(std::memory_order_relaxed); }

bool has_entered(Mark mark) noexcept { return stack.find(mark) != stack.frames.end(); }

Mark show(Mark mark, const std::shared_ptr<Context>& context) {
    if (stack.shown == mark) return nullptr;
    std::optional<Frame> before = std::exchange(stack.carried, std::nullopt);
    const unsigned image = before ? before->image : stack.frames.empty() ? 0 : stack.frames.back().image;
    stack.show(image, {nullptr, identity_view(image)});
    if (const auto at = stack.find(mark); at != stack.frames.end()) {
        stack.show(at->image, at->own);
    } else if (mark != nullptr) {
        stack.carried = make_frame(context, {mark, nullptr}, admit_carried(*context), 0);
        stack.show(stack.carried->image, stack.carried->own);
    }
    return before ? finish(std::move(*before)).mark : nullptr;
}

std::size_t active_scopes() noexcept { return active.load(std::memory_order_relaxed); }

std::vector<void*> take_orphans() {
    if (!orphaned.load(std::memory_order_relaxed)) return {};
    const std::lock_guard lock(orphan_mutex);
    orphaned = false;
    return std::exchange(orphans(), {});
}

}  // namespace optctx::view
