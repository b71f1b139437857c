// The scopes of each thread.
#include "view/scope.hpp"

#include "os/fork_locks.hpp"
#include "view/orphans.hpp"
#include "view/per_thread.hpp"
#include "view/process_wide.hpp"
#include "view/recorder.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <tuple>
#include <utility>

namespace optctx::view {
namespace {

enum class Reason { scope, call, borrowed };

// A frame of this thread, and why it is on the stack.
struct Level {
    Frame frame;
    Reason reason;
    Entry entry;
    Mark shown;            // the mark shown while this level is last
    Mark previous;         // the mark shown before
    std::size_t call = 0;  // number of the call that this level belongs to
    bool abandoned = false;

    bool is_scope(Mark mark) const noexcept { return reason == Reason::scope && entry.mark == mark; }
    // True if this level entered a context, rather than repeating another frame's values.
    bool counts() const noexcept { return reason != Reason::call || !frame.activation.empty() || frame.group; }
};

using Levels = std::vector<Level>;

std::atomic<Way*> chosen_way{nullptr};
std::atomic<std::size_t> active{0};
std::atomic<bool> ending{false};
std::atomic<bool> follows{false};
struct Stack {
    Levels levels;
    // While switches are followed: the scope that the running task entered on another thread. LLVM sees its values at
    // once, but the gate does not count the thread, which may idle inside a copied contextvars.Context for the rest of
    // its life. Calls get a level of their own. If the context's reads are to be marked, there is no view: only calls
    // mark reads.
    std::optional<Level> carried;
    Mark shown = nullptr;
    std::size_t calls = 0;    // into LLVM, in progress
    std::size_t bridged = 0;  // the number of these calls with a level of their own
    std::size_t abandoned = 0;

    // A thread that ends inside scopes leaves them, innermost first. It does not if the process is ending: LLVM's own
    // objects are about to be destroyed, and no waiting thread may be admitted any more. But their destructors must not
    // read through the views that are destroyed with this stack.
    ~Stack() {
        if (ending.load()) {
            for (unsigned image = 0; image < max_images; ++image) set_current_view(image, identity_view(image));
            return;
        }
        while (!levels.empty()) abandon(take(std::prev(levels.end())));
        if (carried) abandon(drop_carried());
    }

    static void abandon(Entry entry) {
        for (void* reference : {entry.mark, entry.token})
            if (reference != nullptr) add_orphan(reference);
    }

    const Frame* innermost() const noexcept { return levels.empty() ? nullptr : &levels.back().frame; }

    // The frame has been admitted. If `push` throws, it has left the frame again.
    void push(Frame&& frame, Reason reason, Entry entry, Mark shows) {
        try {
            if (levels.size() == levels.capacity()) levels.reserve(2 * levels.size() + 4);
        } catch (...) {
            way().leave(frame, innermost(), nullptr);
            throw;
        }
        levels.emplace_back(std::move(frame), reason, entry, shows, shown, reason == Reason::call ? calls : 0);
        shown = shows;
        if (levels.back().counts()) active.fetch_add(1, std::memory_order_relaxed);
    }

    // Removes a level; what it showed is no longer shown.
    Entry take(Levels::iterator at) noexcept {
        if (at->counts()) active.fetch_sub(1, std::memory_order_relaxed);
        if (at->abandoned) --abandoned;
        const Level* outer = at == levels.begin() ? nullptr : &*std::prev(at);
        Level* above = std::next(at) == levels.end() ? nullptr : &*std::next(at);
        way().leave(at->frame, outer == nullptr ? nullptr : &outer->frame, above == nullptr ? nullptr : &above->frame);
        const auto [mark, previous, reason, image] = std::tuple(at->shown, at->previous, at->reason, at->frame.image);
        const Entry entry = at->entry;
        if (above == nullptr) {
            levels.pop_back();
        } else {
            above->previous = previous;
            levels.erase(at);
        }
        if (!follows_switches()) {
            if (above == nullptr) shown = previous;
            return entry;
        }
        if (reason == Reason::scope && shown == mark) shown = nullptr;
        if (reason == Reason::call && above == nullptr) shown = previous;
        show_again(image);
        return entry;
    }

    // Returns the scope of a mark, or levels.end().
    Levels::iterator find(Mark mark) noexcept {
        return std::find_if(levels.begin(), levels.end(), [mark](const Level& level) { return level.is_scope(mark); });
    }

    // Whether the level can be left now. While switches are followed, any level can, unless LLVM works inside it.
    bool is_free(Levels::iterator at) noexcept {
        if (!follows_switches()) return std::next(at) == levels.end();
        const Mark mark = at->entry.mark;
        return std::none_of(at, levels.end(), [mark](const Level& level) {
            return level.reason == Reason::borrowed && level.shown == mark;
        });
    }

    Levels::iterator find_to_leave(const Context& context, Mark task) noexcept {
        const auto own = [&](const Level& level) {
            return level.reason == Reason::scope && level.frame.context.get() == &context;
        };
        if (!follows_switches()) {
            if (levels.empty() || !own(levels.back())) return levels.end();
            return std::prev(levels.end());
        }
        auto at = find(task);
        if (at == levels.end()) {
            const auto last = std::find_if(levels.rbegin(), levels.rend(), own);
            if (last == levels.rend()) return levels.end();
            at = std::prev(last.base());
        }
        return own(*at) && is_free(at) ? at : levels.end();
    }

    // Returns what LLVM sees. While switches are followed, that need not be the last level.
    const Level* seen(unsigned image) const noexcept {
        const bool any = follows_switches();
        const auto at = std::find_if(levels.rbegin(), levels.rend(), [&](const Level& level) {
            return level.frame.image == image && (!any || level.shown == shown);
        });
        if (at != levels.rend()) return &*at;
        return shows_carried() && carried->frame.view != nullptr ? &*carried : nullptr;
    }

    bool shows_carried() const noexcept { return carried && carried->shown == shown; }
    bool shows_only_carried() const noexcept {
        return shows_carried() &&
               std::none_of(levels.begin(), levels.end(), [this](const Level& level) { return level.shown == shown; });
    }

    void show_again(unsigned image) noexcept {
        const Level* level = seen(image);
        if (level == nullptr && !shows_carried()) shown = nullptr;
        way().show(image, level == nullptr ? nullptr : &level->frame);
    }

    Entry drop_carried() noexcept {
        Level level = *std::exchange(carried, std::nullopt);
        if (level.frame.view == nullptr) return level.entry;
        way().leave(level.frame, nullptr, nullptr);
        way().show(level.frame.image, nullptr);  // the frame shown before may be gone
        return level.entry;
    }
};

thread_local Stack stack;

// Compilations of this thread. They end under the engine that they began under.
thread_local Way* compiling = nullptr;
thread_local std::size_t compilations = 0;

Way& way_of_compilations() noexcept { return compilations > 0 ? *compiling : way(); }

// False if the engine changed during the wait.
bool began(Way& begun) noexcept {
    if (compilations == 0 && &begun != &way()) {
        begun.end_compilation(stack.innermost());
        return false;
    }
    compiling = &begun;
    ++compilations;
    return true;
}

// Runs in the child of a fork: only this thread's contexts, and the process-wide changes in force, keep LLVM's debug
// flag raised.
void raise_flags_again() {
    for (unsigned image = 0; image < max_images; ++image) {
        const auto raises = [image](const Level& level) {
            return level.frame.image == image && !level.frame.activation.empty() && level.frame.context->raises_flag();
        };
        auto count = static_cast<std::size_t>(std::count_if(stack.levels.begin(), stack.levels.end(), raises));
        if (stack.carried && raises(*stack.carried)) ++count;
        if (debugs_process_wide()) ++count;
        if (Debugging* flag = debugging(image)) flag->raised_by(count);
    }
}

std::size_t activations_of(const Context& context) noexcept {
    const auto has = [&](const Level& level) {
        return !level.frame.activation.empty() && level.frame.context.get() == &context;
    };
    const auto& levels = stack.levels;
    return static_cast<std::size_t>(std::count_if(levels.begin(), levels.end(), has)) +
           (stack.carried && has(*stack.carried) ? 1 : 0);
}

// Only this thread survives in the child of a fork: counts over all threads become this thread's.
void count_again() noexcept {
    const auto counted =
        std::count_if(stack.levels.begin(), stack.levels.end(), [](const Level& level) { return level.counts(); });
    active = static_cast<std::size_t>(counted);
    count_recorders_again();
    Context::count_threads_again(activations_of);
    only_this_thread_abandons();
    way().after_fork_in_child(stack.innermost());
    raise_flags_again();
}

[[maybe_unused]] const bool watches_forks = os::repair_after_fork(count_again);

}  // namespace

Way& way() noexcept {
    Way* chosen = chosen_way.load(std::memory_order_acquire);
    return chosen != nullptr ? *chosen : per_thread();
}

void use(Way& chosen) noexcept { chosen_way.store(&chosen, std::memory_order_release); }

void process_ends() noexcept { ending = true; }

Frame frame_of(const std::shared_ptr<Context>& context) {
    return {.context = context, .image = context->space().image()};
}

std::optional<Frame> frame_here(Mark mark) {
    if (mark == nullptr) {
        // LLVM's own values, unless a scope was entered here: take the image from the last level.
        const unsigned image = stack.levels.empty() ? 0 : stack.levels.back().frame.image;
        return Frame{.context = nullptr, .image = image, .view = identity_view(image)};
    }
    const auto at = stack.find(mark);
    if (at == stack.levels.end()) return std::nullopt;
    return Frame{.context = at->frame.context, .image = at->frame.image, .view = at->frame.view};
}

bool admit_at_once(Frame& frame) { return way().admit_at_once(frame, stack.innermost()); }
void admit(Frame& frame) { way().admit(frame, stack.innermost()); }
Carried carry(Frame& frame) { return way().carry(frame, stack.innermost()); }

bool in_line(Mark task) noexcept { return stack.shown == task; }

Entry innermost() noexcept {
    const auto last = std::find_if(stack.levels.rbegin(), stack.levels.rend(),
                                   [](const Level& level) { return level.reason != Reason::borrowed; });
    return last != stack.levels.rend() && last->is_scope(stack.shown) ? last->entry : Entry{};
}

const Context* current_context(unsigned image) noexcept {
    const Level* level = stack.seen(image);
    return level == nullptr ? nullptr : level->frame.context.get();
}

void* current_owner(unsigned image) noexcept {
    const Level* level = stack.seen(image);
    return level == nullptr ? nullptr : level->entry.owner;
}

bool wrote(unsigned image) noexcept {
    const Level* seen = stack.seen(image);
    if (seen == nullptr || !seen->frame.activation.empty())
        return seen != nullptr && seen->frame.activation.front().activation->written();
    // A call repeats the values of an enclosing scope.
    for (const Level& level : stack.levels)
        if (level.frame.view == seen->frame.view && !level.frame.activation.empty())
            return level.frame.activation.front().activation->written();
    return true;
}

void enter(Frame&& frame, Entry entry) { stack.push(std::move(frame), Reason::scope, entry, entry.mark); }

Entry to_leave(const Context& context, Mark task) {
    const auto& levels = stack.levels;
    if (const auto at = stack.find_to_leave(context, task); at != levels.end()) return at->entry;
    const bool outer = std::any_of(levels.begin(), levels.end(), [&](const Level& level) {
        return level.reason == Reason::scope && level.frame.context.get() == &context;
    });
    if (outer) throw ScopeError("it is not the innermost scope of this thread: scopes entered after it are still open");
    throw ScopeError(
        "this thread is not inside it: it was not entered, was left already, or was entered on another thread");
}

void give_token(Mark mark, void* token) noexcept { stack.find(mark)->entry.token = token; }

void leave(Mark mark) noexcept { stack.take(stack.find(mark)); }

void leave_all() noexcept {
    drop_recorders();
    while (!stack.levels.empty()) Stack::abandon(stack.take(std::prev(stack.levels.end())));
    if (stack.carried) Stack::abandon(stack.drop_carried());
    stack.shown = nullptr;
    stack.calls = stack.bridged = 0;
}

void abandon(Ticket ticket) noexcept {
    for (Level& level : stack.levels) {
        if (level.reason != Reason::scope || level.entry.ticket != ticket || level.abandoned) continue;
        level.abandoned = true;
        ++stack.abandoned;
    }
}

bool any_abandoned() noexcept { return stack.abandoned != 0; }

Entry next_abandoned(std::size_t passed) noexcept {
    for (auto at = stack.levels.end(); at != stack.levels.begin();)
        if ((--at)->abandoned && stack.is_free(at) && passed-- == 0) return at->entry;
    return {};
}

bool begin_call(Mark task) noexcept {
    follow_debugging();
    ++stack.calls;
    return stack.shown == task && !stack.shows_only_carried();
}

std::size_t calls() noexcept { return stack.calls; }

void enter_for_call(Frame&& frame, Entry entry) {
    stack.push(std::move(frame), Reason::call, entry, entry.mark);
    ++stack.bridged;
}

Mark end_call() noexcept {
    if (stack.calls == 0) return nullptr;  // the call began before calls were counted
    const std::size_t call = stack.calls--;
    if (stack.bridged == 0) return nullptr;
    auto& levels = stack.levels;
    const auto at = std::find_if(levels.begin(), levels.end(), [call](const Level& level) {
        return level.reason == Reason::call && level.call == call;
    });
    if (at == levels.end()) return nullptr;
    --stack.bridged;
    return stack.take(at).mark;
}

void enter_borrowed(const std::shared_ptr<Context>& context, void* owner) {
    Frame frame = frame_of(context);
    activate(frame);
    stack.push(std::move(frame), Reason::borrowed, {nullptr, owner, nullptr}, stack.shown);
}

void leave_borrowed() noexcept {
    auto& levels = stack.levels;
    const auto last = std::find_if(levels.rbegin(), levels.rend(),
                                   [](const Level& level) { return level.reason == Reason::borrowed; });
    stack.take(std::prev(last.base()));
}

void follow_switches(bool follow) noexcept { follows = follow; }
bool follows_switches() noexcept { return follows.load(std::memory_order_relaxed); }

bool has_entered(Mark mark) noexcept { return stack.find(mark) != stack.levels.end(); }

Mark show(Entry entry, const std::shared_ptr<Context>& context) {
    if (stack.shown == entry.mark) return nullptr;
    unsigned image = stack.levels.empty() ? 0 : stack.levels.back().frame.image;
    std::optional<Level> next;
    if (entry.mark != nullptr && !has_entered(entry.mark)) {
        Frame frame = frame_of(context);
        if (context->reads() == nullptr) activate(frame);
        image = frame.image;
        next = Level{std::move(frame), Reason::scope, entry, entry.mark, nullptr};
    }
    const Mark before = stack.carried ? stack.drop_carried().mark : nullptr;
    if (next) stack.carried.emplace(*std::move(next));
    stack.shown = entry.mark;
    stack.show_again(image);
    return before;
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

std::size_t active_scopes() noexcept { return active.load(std::memory_order_relaxed); }

}  // namespace optctx::view
