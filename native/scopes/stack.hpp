// The scopes and calls that one thread is inside, innermost last, and what it shows LLVM of them. Only scopes/scope.cpp
// uses it: the bodies are here so that entering and leaving a scope is one function.
#pragma once

#include "contexts/activation.hpp"
#include "scopes/frame.hpp"
#include "scopes/mark.hpp"
#include "scopes/orphans.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace optctx::scopes {

inline views::PerImage<std::atomic<std::size_t>> active_levels{};  // of all threads
inline std::atomic<bool> process_ending{false};

// `thread`: a scope of C++ code, which belongs to the thread and to no task. It shows the mark that was shown before.
enum class Reason { scope, call, borrowed, thread };
// Set when the thread's stack is gone: C++ code may still run in destructors of other objects.
inline thread_local constinit bool ended = false;

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
    bool counts() const noexcept { return reason != Reason::call || !frame.activation.empty(); }
};

using Levels = std::vector<Level>;

struct Stack {
    Levels levels;  // of all images
    // While switches are followed: the scopes that the running task entered on another thread, one for each image. LLVM
    // sees their values at once. Calls get a level of their own. If a context's reads are to be marked, there is no
    // view: only calls mark reads.
    Levels carried;
    Mark shown = nullptr;
    std::uint32_t images = 0;  // a bit for each image that this thread had a frame of
    std::size_t calls = 0;     // into LLVM, in progress
    std::size_t bridged = 0;   // the number of these calls with a level of their own
    std::size_t abandoned = 0;

    // A thread that ends inside scopes leaves them, innermost first. It does not if the process is ending: LLVM's own
    // objects are about to be destroyed. But their destructors must not read through the views that are destroyed with
    // this stack.
    ~Stack() {
        ended = true;
        if (process_ending.load()) {
            for (unsigned image = 0; image < views::max_images; ++image)
                views::set_current_view(image, views::identity_view(image));
            return;
        }
        while (!levels.empty()) abandon(take(std::prev(levels.end())));
        abandon({.mark = drop_carried()});
    }

    static void abandon(ScopeEntry entry) {
        for (void* reference : {entry.mark, entry.token})
            if (reference != nullptr) add_orphan(reference);
    }

    Frame* above(Levels::iterator at) noexcept {
        const unsigned image = at->frame.image;
        while (++at != levels.end())
            if (at->frame.image == image) return &at->frame;
        return nullptr;
    }

    void make_room() {
        if (levels.size() == levels.capacity()) levels.reserve(2 * levels.size() + 4);
    }

    // Leaves a frame that is shown and not on the stack.
    void dismiss(Frame& frame) noexcept { scopes::leave(frame, nullptr); }

    // The frame is shown. If `push` throws, it has left the frame again; it does not after `make_room`.
    void push(Frame&& frame, Reason reason, ScopeEntry entry, Mark shows) {
        try {
            make_room();
        } catch (...) {
            dismiss(frame);
            throw;
        }
        const unsigned image = frame.image;
        images |= 1U << image;
        levels.emplace_back(std::move(frame), reason, entry, shows, shown, reason == Reason::call ? calls : 0);
        shown = shows;
        if (levels.back().counts()) active_levels[image].fetch_add(1, std::memory_order_relaxed);
    }

    // Removes a level; what it showed is no longer shown.
    ScopeEntry take(Levels::iterator at) noexcept {
        const unsigned image = at->frame.image;
        const bool counted = at->counts();
        if (at->abandoned) --abandoned;
        scopes::leave(at->frame, above(at));
        if (counted) active_levels[image].fetch_sub(1, std::memory_order_release);
        const auto [mark, previous, reason] = std::tuple(at->shown, at->previous, at->reason);
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

    // Returns the scope of a mark, or levels.end(). It is usually the last level.
    Levels::iterator find(Mark mark) noexcept {
        for (auto at = levels.end(); at != levels.begin();)
            if ((--at)->is_scope(mark)) return at;
        return levels.end();
    }

    // Whether the level can be left now. While switches are followed, any level can, unless LLVM works inside it.
    bool is_free(Levels::iterator at) noexcept {
        if (!follows_switches()) return std::next(at) == levels.end();
        const Mark mark = at->shown;
        return std::none_of(std::next(at), levels.end(), [mark](const Level& level) {
            return (level.reason == Reason::borrowed || level.reason == Reason::thread) && level.shown == mark;
        });
    }

    Levels::iterator find_of_thread(Ticket ticket) noexcept {
        return std::find_if(levels.begin(), levels.end(), [ticket](const Level& level) {
            return level.reason == Reason::thread && level.entry.ticket == ticket;
        });
    }

    Levels::iterator find_to_leave(const contexts::Context& context, Mark task) noexcept {
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
        if (!follows_switches()) return last(image, std::nullopt);
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
            scopes::show(image, level == nullptr ? nullptr : &level->frame);
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
        scopes::leave(level.frame, nullptr);
        scopes::show(level.frame.image, nullptr);  // the frame shown before may be gone
    }
};

}  // namespace optctx::scopes
