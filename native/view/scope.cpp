// The stack of scopes of each thread.
#include "view/context.hpp"
#include "view/per_thread.hpp"

#include "os/os.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

namespace optctx::view {
namespace {

std::atomic<Way*> chosen_way{nullptr};
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
            const bool borrowed = frames.back().borrowed;
            void* owner = pop();
            if (!borrowed) add_orphan(owner);
        }
    }

    const Frame* innermost() const noexcept { return frames.empty() ? nullptr : &frames.back(); }

    void* pop() noexcept {
        Frame frame = std::move(frames.back());
        frames.pop_back();
        active.fetch_sub(1, std::memory_order_relaxed);
        if (frame.borrowed)
            deactivate(frame);
        else
            way().leave(frame, innermost());
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

// Compilations of this thread, which end the way they began.
thread_local Way* compiling = nullptr;
thread_local std::size_t compilations = 0;

Way& way_of_compilations() noexcept { return compilations > 0 ? *compiling : way(); }

// False if the way of this process changed meanwhile.
bool began(Way& begun) noexcept {
    if (compilations == 0 && &begun != &way()) {
        begun.end_compilation(stack.innermost());
        return false;
    }
    compiling = &begun;
    ++compilations;
    return true;
}

void before_fork() { way().before_fork(); }

void after_fork_in_parent() { way().after_fork_in_parent(); }

void after_fork_in_child() {
    active = stack.frames.size();
    way().after_fork_in_child(stack.innermost());
}

}  // namespace

Way& way() noexcept {
    Way* chosen = chosen_way.load(std::memory_order_acquire);
    return chosen != nullptr ? *chosen : per_thread();
}

void use(Way& chosen) noexcept { chosen_way.store(&chosen, std::memory_order_release); }

void watch_forks() {
    static const int registered = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    if (registered != 0) throw os::OsError("pthread_atfork", 0, registered);
}

bool admit_at_once(Frame& frame) { return way().admit_at_once(frame, stack.innermost()); }

void admit(Frame& frame) { way().admit(frame, stack.innermost()); }

void enter(Frame frame) {
    try {
        stack.frames.reserve(stack.frames.size() + 1);
    } catch (...) {
        way().leave(frame, stack.innermost());
        throw;
    }
    stack.frames.push_back(std::move(frame));
    active.fetch_add(1, std::memory_order_relaxed);
}

void enter_borrowed(const std::shared_ptr<Context>& context, void* owner) {
    stack.frames.reserve(stack.frames.size() + 1);
    Frame frame{.context = context, .owner = owner, .borrowed = true};
    activate(frame);
    stack.frames.push_back(std::move(frame));
    active.fetch_add(1, std::memory_order_relaxed);
}

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

bool begin_compilation_at_once() {
    Way& begun = way_of_compilations();
    return begun.begin_compilation_at_once(stack.innermost()) && began(begun);
}

void begin_compilation() {
    Way* begun;
    do {
        begun = &way_of_compilations();
        begun->begin_compilation(stack.innermost());
    } while (!began(*begun));
}

void end_compilation() noexcept {
    --compilations;
    compiling->end_compilation(stack.innermost());
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
