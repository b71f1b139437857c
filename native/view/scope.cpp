// The scopes of each thread.
#include "view/scope.hpp"

#include "os/fork_locks.hpp"
#include "view/orphans.hpp"
#include "view/per_thread.hpp"
#include "view/process_wide.hpp"
#include "view/recorder.hpp"
#include "view/set_inside.hpp"
#include "view/turns.hpp"

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
    ScopeEntry entry;
    Mark shown;            // the mark shown while this level is last
    Mark previous;         // the mark shown before
    std::size_t call = 0;  // number of the call that this level belongs to
    bool abandoned = false;

    bool is_scope(Mark mark) const noexcept { return reason == Reason::scope && entry.mark == mark; }
    // True if this level entered a context, rather than repeating another frame's values.
    bool counts() const noexcept { return reason != Reason::call || !frame.activation.empty() || frame.group; }
};

using Levels = std::vector<Level>;

PerImage<std::atomic<Mechanism*>> chosen_mechanism{};
PerImage<std::atomic<std::size_t>> active{};  // levels of all threads
std::atomic<bool> ending{false};              // of the process
std::atomic<bool> follows{false};             // the interpreter reports switches
std::atomic<bool> any_in_turns{false};        // threads take turns in at least one image

bool near(unsigned image, unsigned other) noexcept {
    if (image == other) return true;
    const Mechanism& own = mechanism(image);
    return &own == &mechanism(other) && own.spans_images();
}

// Whether this thread can show its frames of the image in any order.
bool follows_in(unsigned image) noexcept { return follows_switches() && mechanism(image).shows_any(); }

struct Stack {
    Levels levels;  // of all images
    // While switches are followed: the scopes that the running task entered on another thread, one for each image. LLVM
    // sees their values at once, but the gate does not count the thread, which may idle inside a copied
    // contextvars.Context for the rest of its life. Calls get a level of their own. If a context's reads are to be
    // marked, there is no view: only calls mark reads.
    Levels carried;
    Mark shown = nullptr;
    std::uint32_t images = 0;  // a bit for each image that this thread had a frame of
    std::size_t calls = 0;     // into LLVM, in progress
    std::size_t bridged = 0;   // the number of these calls with a level of their own
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
        abandon({.mark = drop_carried()});
    }

    static void abandon(ScopeEntry entry) {
        for (void* reference : {entry.mark, entry.token})
            if (reference != nullptr) add_orphan(reference);
    }

    // Returns the innermost frame near those of an image, or null.
    const Frame* innermost(unsigned image) const noexcept {
        const auto at = std::find_if(levels.rbegin(), levels.rend(),
                                     [image](const Level& level) { return near(image, level.frame.image); });
        return at == levels.rend() ? nullptr : &at->frame;
    }

    const Frame* below(Levels::iterator at) const noexcept {
        const unsigned image = at->frame.image;
        while (at != levels.begin())
            if (near(image, (--at)->frame.image)) return &at->frame;
        return nullptr;
    }

    Frame* above(Levels::iterator at) noexcept {
        const unsigned image = at->frame.image;
        while (++at != levels.end())
            if (near(image, at->frame.image)) return &at->frame;
        return nullptr;
    }

    // The frame has been admitted. If `push` throws, it has left the frame again.
    void push(Frame&& frame, Reason reason, ScopeEntry entry, Mark shows) {
        try {
            if (levels.size() == levels.capacity()) levels.reserve(2 * levels.size() + 4);
        } catch (...) {
            mechanism(frame.image).leave(frame, innermost(frame.image), nullptr);
            throw;
        }
        const unsigned image = frame.image;
        images |= 1U << image;
        levels.emplace_back(std::move(frame), reason, entry, shows, shown, reason == Reason::call ? calls : 0);
        shown = shows;
        if (levels.back().counts()) active[image].fetch_add(1, std::memory_order_relaxed);
    }

    // Removes a level; what it showed is no longer shown.
    ScopeEntry take(Levels::iterator at) noexcept {
        const unsigned image = at->frame.image;
        if (at->counts()) active[image].fetch_sub(1, std::memory_order_relaxed);
        if (at->abandoned) --abandoned;
        mechanism(image).leave(at->frame, below(at), above(at));
        const auto [mark, previous, reason] = std::tuple(at->shown, at->previous, at->reason);
        if (reason == Reason::scope) forget_set_inside(at->entry.mark);
        const ScopeEntry entry = at->entry;
        const bool is_last = std::next(at) == levels.end();
        if (is_last)
            levels.pop_back();
        else
            pass_on(mark, previous, levels.erase(at));
        if (!follows_switches()) {
            if (is_last) shown = previous;
            return entry;
        }
        if (reason == Reason::scope && shown == mark) shown = nullptr;
        if (reason == Reason::call && is_last) shown = previous;
        show_again();
        return entry;
    }

    // A level with this mark is gone: those from `at` on, which were above it, lead to what was shown before it.
    void pass_on(Mark mark, Mark previous, Levels::iterator at) noexcept {
        if (!follows_switches()) {
            at->previous = previous;
            return;
        }
        for (; at != levels.end(); ++at)
            if (at->previous == mark) at->previous = previous;
    }

    // Returns the scope of a mark, or levels.end().
    Levels::iterator find(Mark mark) noexcept {
        return std::find_if(levels.begin(), levels.end(), [mark](const Level& level) { return level.is_scope(mark); });
    }

    // Whether the level can be left now. While switches are followed, any level can, unless LLVM works inside it.
    bool is_free(Levels::iterator at) noexcept {
        if (!follows_in(at->frame.image))
            return follows_switches() ? above(at) == nullptr : std::next(at) == levels.end();
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

    // Returns the last level of the image, of those that show this mark or, with nullopt, of all.
    const Level* last(unsigned image, std::optional<Mark> mark) const noexcept {
        const auto at = std::find_if(levels.rbegin(), levels.rend(), [&](const Level& level) {
            return level.frame.image == image && (!mark || level.shown == *mark);
        });
        return at == levels.rend() ? nullptr : &*at;
    }

    // Returns the level that is in force for the image where the task with this mark runs: a scope of another image
    // lets the scopes around it show through. Stops at a mark that was not entered on this thread.
    const Level* in_force(unsigned image, Mark mark) const noexcept {
        for (;;) {
            if (const Level* level = last(image, mark)) return level;
            const auto at =
                std::find_if(levels.begin(), levels.end(), [mark](const Level& level) { return level.is_scope(mark); });
            if (mark == nullptr || at == levels.end() || at->frame.image == image) return nullptr;
            mark = at->previous;
        }
    }

    // Returns what LLVM sees. While switches are followed, that need not be the last level.
    const Level* seen(unsigned image) const noexcept {
        if (!follows_in(image)) return last(image, std::nullopt);
        if (const Level* level = in_force(image, shown)) return level;
        const Level* level = shown_carried(image);
        return level != nullptr && level->frame.view != nullptr ? level : nullptr;
    }

    // Returns the level with the activation that LLVM reads through, or null.
    const Level* activated(unsigned image) const noexcept {
        const Level* level = seen(image);
        if (level == nullptr || !level->frame.activation.empty()) return level;
        // A call repeats the values of an enclosing scope.
        const auto at = std::find_if(levels.begin(), levels.end(), [level](const Level& each) {
            return each.frame.view == level->frame.view && !each.frame.activation.empty();
        });
        return at == levels.end() ? nullptr : &*at;
    }

    const Level* shown_carried(unsigned image) const noexcept {
        const auto at = std::find_if(carried.begin(), carried.end(), [&](const Level& level) {
            return level.frame.image == image && level.shown == shown;
        });
        return at == carried.end() ? nullptr : &*at;
    }
    bool shows_only_carried(unsigned image) const noexcept {
        return shown_carried(image) != nullptr && in_force(image, shown) == nullptr;
    }

    // Makes every image see what the shown mark stands for.
    void show_again() noexcept {
        bool any =
            std::any_of(carried.begin(), carried.end(), [this](const Level& each) { return each.shown == shown; });
        for (unsigned image = 0; images >> image != 0; ++image) {
            if ((images >> image & 1) == 0) continue;
            const Level* level = seen(image);
            any = any || level != nullptr;
            mechanism(image).show(image, level == nullptr ? nullptr : &level->frame);
        }
        if (!any) shown = nullptr;
    }

    // Returns the mark of what was carried, which belongs to the caller again, or null.
    Mark drop_carried() noexcept {
        Mark mark = nullptr;
        for (Level& level : std::exchange(carried, {})) {
            mark = level.entry.mark;
            drop(level);
        }
        return mark;
    }

    static void drop(Level& level) noexcept {
        if (level.frame.view == nullptr) return;
        Mechanism& own = mechanism(level.frame.image);
        own.leave(level.frame, nullptr, nullptr);
        own.show(level.frame.image, nullptr);  // the frame shown before may be gone
    }
};

thread_local Stack stack;

// Compilations of this thread in an image. They end under the engine that they began under.
struct Compilations {
    std::uint16_t count = 0;
    bool in_turns = false;
};
thread_local PerImage<Compilations> compilations{};

Mechanism& mechanism_of_compilations(unsigned image) noexcept {
    const auto [count, in_turns] = compilations[image];
    if (count == 0) return mechanism(image);
    return in_turns ? turns() : per_thread();
}

// False if the engine changed during the wait.
bool began(unsigned image, Mechanism& begun) noexcept {
    Compilations& own = compilations[image];
    if (own.count == 0 && &begun != &mechanism(image)) {
        begun.end_compilation(stack.innermost(image));
        return false;
    }
    own.in_turns = &begun == &turns();
    ++own.count;
    return true;
}

// Runs in the child of a fork: only this thread's contexts, and the process-wide changes in force, keep LLVM's debug
// flag raised.
void raise_flags_again() {
    for (unsigned image = 0; image < max_images; ++image) {
        const auto raises = [image](const Level& level) {
            return level.frame.image == image && !level.frame.activation.empty() && level.frame.context->raises_flag();
        };
        const auto raises_inside = [image](const Level& level) {
            return level.frame.image == image && !level.frame.activation.empty() &&
                   level.frame.activation.front().activation->raises_flag();
        };
        std::size_t count = 0;
        for (const Levels* levels : {&stack.levels, &stack.carried}) {
            count += static_cast<std::size_t>(std::count_if(levels->begin(), levels->end(), raises));
            count += static_cast<std::size_t>(std::count_if(levels->begin(), levels->end(), raises_inside));
        }
        if (debugs_process_wide(image)) ++count;
        if (Debugging* flag = debugging(image)) flag->raised_by(count);
    }
}

std::size_t activations_of(const Context& context) noexcept {
    const auto has = [&](const Level& level) {
        return !level.frame.activation.empty() && level.frame.context.get() == &context;
    };
    const auto count = [&](const Levels& levels) { return std::count_if(levels.begin(), levels.end(), has); };
    return static_cast<std::size_t>(count(stack.levels) + count(stack.carried));
}

void after_fork_in_child(Mechanism& engine) noexcept {
    const auto& levels = stack.levels;
    const auto at = std::find_if(levels.rbegin(), levels.rend(),
                                 [&](const Level& level) { return &mechanism(level.frame.image) == &engine; });
    engine.after_fork_in_child(at == levels.rend() ? nullptr : &at->frame);
}

// Only this thread survives in the child of a fork: counts over all threads become this thread's.
void count_again() noexcept {
    for (auto& count : active) count = 0;
    for (const Level& level : stack.levels)
        if (level.counts()) ++active[level.frame.image];
    count_recorders_again();
    Context::count_threads_again(activations_of);
    forget_set_inside_unless([](const void* mark) { return stack.find(const_cast<Mark>(mark)) != stack.levels.end(); });
    only_this_thread_abandons();
    after_fork_in_child(per_thread());
    after_fork_in_child(turns());
    raise_flags_again();
}

[[maybe_unused]] const bool watches_forks = os::repair_after_fork(count_again);

// A thread with a turn could wait at the gate for a thread that has closed it or is inside, and that one for the turn.
void check_no_cycle(const Frame& frame) {
    const ProcessWide* changes = frame.context == nullptr ? nullptr : frame.context->process_wide().get();
    if (changes != nullptr && any_in_turns.load() && !mechanism(frame.image).spans_images())
        throw gate::GateError("cannot apply " + changes->text() +
                              " process-wide: threads take turns in another LLVM of this process, and could wait for "
                              "each other");
}

}  // namespace

Mechanism& mechanism(unsigned image) noexcept {
    Mechanism* chosen = chosen_mechanism[image].load(std::memory_order_acquire);
    return chosen != nullptr ? *chosen : per_thread();
}

void use(unsigned image, Mechanism& chosen) noexcept {
    if (chosen.spans_images()) any_in_turns = true;
    chosen_mechanism[image].store(&chosen, std::memory_order_release);
}

void process_ends() noexcept { ending = true; }

Frame frame_of(const std::shared_ptr<Context>& context) {
    return {.context = context, .image = context->space().image()};
}

Frame frame_outside(unsigned image) { return {.context = nullptr, .image = image, .view = identity_view(image)}; }

std::optional<Frame> frame_here(unsigned image, Mark mark) {
    while (mark != nullptr) {
        const auto at = stack.find(mark);
        if (at == stack.levels.end()) return std::nullopt;
        if (at->frame.image == image)
            return Frame{.context = at->frame.context, .image = image, .view = at->frame.view};
        mark = at->previous;
    }
    return frame_outside(image);
}

bool admit_at_once(Frame& frame) { return mechanism(frame.image).admit_at_once(frame, stack.innermost(frame.image)); }
void admit(Frame& frame) {
    check_no_cycle(frame);
    mechanism(frame.image).admit(frame, stack.innermost(frame.image));
}
Carried carry(Frame& frame) { return mechanism(frame.image).carry(frame, stack.innermost(frame.image)); }

bool in_line(Mark task) noexcept { return stack.shown == task; }

ScopeEntry innermost() noexcept {
    const auto last = std::find_if(stack.levels.rbegin(), stack.levels.rend(),
                                   [](const Level& level) { return level.reason != Reason::borrowed; });
    return last != stack.levels.rend() && last->is_scope(stack.shown) ? last->entry : ScopeEntry{};
}

Activation* current_activation(unsigned image) noexcept {
    const Level* level = stack.activated(image);
    return level == nullptr ? nullptr : level->frame.activation.front().activation.get();
}

Mark current_mark(unsigned image) noexcept {
    const Level* activated = stack.activated(image);
    const auto at = std::find_if(stack.levels.begin(), stack.levels.end(), [activated](const Level& level) {
        return &level == activated && level.reason == Reason::scope;
    });
    return at == stack.levels.end() ? nullptr : at->entry.mark;  // null for one that is carried
}

void take_over(Frame& frame, Mark mark) {
    if (frame.activation.empty()) return;
    if (std::optional<SetInside> values = set_inside(mark))
        frame.activation.front().activation->adopt(std::move(values->context), std::move(values->given), false);
}

static void take_in(Activation& activation) noexcept {
    try {
        activation.take_in();
    } catch (const std::exception&) {
        // Out of memory: what was written counts from a later call on. LLVM sees it.
    }
}

const Context* current_context(unsigned image) noexcept {
    const Level* level = stack.seen(image);
    if (level == nullptr) return nullptr;
    Activation* activation = current_activation(image);
    if (activation == nullptr) return level->frame.context.get();
    if (activation->is_exposed()) take_in(*activation);
    return activation->adopted() == nullptr ? level->frame.context.get() : activation->adopted().get();
}

void* current_owner(unsigned image) noexcept {
    const Level* level = stack.seen(image);
    return level == nullptr ? nullptr : level->entry.owner;
}

bool wrote(unsigned image) noexcept {
    const Activation* activation = current_activation(image);
    return activation != nullptr ? activation->written() : stack.seen(image) != nullptr;
}

void enter(Frame&& frame, ScopeEntry entry) { stack.push(std::move(frame), Reason::scope, entry, entry.mark); }

ScopeEntry to_leave(const Context& context, Mark task) {
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
    Stack::abandon({.mark = stack.drop_carried()});
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

ScopeEntry next_abandoned(std::size_t passed) noexcept {
    for (auto at = stack.levels.end(); at != stack.levels.begin();)
        if ((--at)->abandoned && stack.is_free(at) && passed-- == 0) return at->entry;
    return {};
}

bool begin_call(unsigned image, Mark task) noexcept {
    follow_debugging(image);
    ++stack.calls;
    return stack.shown == task && !stack.shows_only_carried(image);
}

std::size_t calls() noexcept { return stack.calls; }

void enter_for_call(Frame&& frame, ScopeEntry entry) {
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

Shown show(Mark mark, const std::vector<Values>& values) {
    if (stack.shown == mark) return {};
    Levels next;
    next.reserve(values.size());
    try {
        for (const auto& [context, owner, own_mark] : values) {
            Frame frame = frame_of(context);
            if (!follows_in(frame.image) || stack.in_force(frame.image, mark) != nullptr) continue;
            if (context->reads() == nullptr) {
                activate(frame);
                take_over(frame, own_mark);
            }
            next.push_back({std::move(frame), Reason::scope, {mark, owner, nullptr}, mark, nullptr});
        }
    } catch (...) {
        for (Level& level : next) Stack::drop(level);
        throw;
    }
    const Mark before = stack.drop_carried();
    stack.carried = std::move(next);
    for (const Level& level : stack.carried) stack.images |= 1U << level.frame.image;
    stack.shown = mark;
    stack.show_again();
    return {before, !stack.carried.empty()};
}

bool begin_compilation_at_once(unsigned image) {
    Mechanism& begun = mechanism_of_compilations(image);
    return begun.begin_compilation_at_once(stack.innermost(image)) && began(image, begun);
}

void begin_compilation(unsigned image) {
    Mechanism* begun;
    do {
        begun = &mechanism_of_compilations(image);
        begun->begin_compilation(stack.innermost(image));
    } while (!began(image, *begun));
}

void end_compilation(unsigned image) noexcept {
    Mechanism& begun = mechanism_of_compilations(image);
    --compilations[image].count;
    begun.end_compilation(stack.innermost(image));
}

std::size_t active_scopes(unsigned image) noexcept { return active[image].load(std::memory_order_relaxed); }

}  // namespace optctx::view
