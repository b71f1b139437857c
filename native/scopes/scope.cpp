// The scopes of each thread.
#include "scopes/scope.hpp"

#include "os/fork_locks.hpp"
#include "scopes/recorder.hpp"
#include "scopes/stack.hpp"
#include "values/debugging.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <utility>

namespace optctx::scopes {
namespace {

thread_local Stack stack;

// Runs in the child of a fork: only this thread's contexts keep LLVM's debug flag raised.
void raise_flags_again() {
    for (unsigned image = 0; image < views::max_images; ++image) {
        std::size_t count = 0;
        for (const Levels* levels : {&stack.levels, &stack.carried})
            for (const Level& level : *levels) {
                const Frame& frame = level.frame;
                if (frame.image != image || frame.activation.empty()) continue;
                if (frame.context->prints()) ++count;
                if (frame.activation.front().activation->raises_flag()) ++count;
            }
        if (values::Debugging* flag = values::debugging(image)) flag->raised_by(count);
    }
}

std::size_t activations_of(const contexts::Context& context) noexcept {
    const auto has = [&](const Level& level) {
        return !level.frame.activation.empty() && level.frame.context.get() == &context;
    };
    const auto count = [&](const Levels& levels) { return std::count_if(levels.begin(), levels.end(), has); };
    return static_cast<std::size_t>(count(stack.levels) + count(stack.carried));
}

// Only this thread survives in the child of a fork: counts over all threads become this thread's.
void count_again() noexcept {
    for (auto& count : active_levels) count = 0;
    for (const Level& level : stack.levels)
        if (level.counts()) ++active_levels[level.frame.image];
    count_recorders_again();
    contexts::Context::count_threads_again(activations_of);
    only_this_thread_abandons();
    raise_flags_again();
}

[[maybe_unused]] const bool watches_forks = os::repair_after_fork(count_again);

}  // namespace

void process_ends() noexcept { process_ending = true; }

Frame frame_of(const std::shared_ptr<contexts::Context>& context) {
    return {.context = context, .image = context->space().image()};
}

Frame frame_outside(unsigned image) {
    return {.context = nullptr, .image = image, .view = views::identity_view(image)};
}

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

bool in_line(Mark task) noexcept { return stack.shown == task; }

ScopeEntry innermost() noexcept {
    const auto last = std::find_if(stack.levels.rbegin(), stack.levels.rend(), [](const Level& level) {
        return level.reason != Reason::borrowed && level.reason != Reason::thread;
    });
    return last != stack.levels.rend() && last->is_scope(stack.shown) ? last->entry : ScopeEntry{};
}

contexts::Activation* current_activation(unsigned image) noexcept {
    const Level* level = stack.activated(image);
    return level == nullptr ? nullptr : level->frame.activation.front().activation.get();
}

bool entered_here(unsigned image) noexcept {
    const Level* activated = stack.activated(image);  // among the levels, unless it is carried
    return std::any_of(stack.levels.begin(), stack.levels.end(), [activated](const Level& level) {
        return &level == activated && level.reason == Reason::scope;
    });
}

contexts::Activation* activation_of(Mark mark) noexcept {
    const auto at = stack.find(mark);
    if (mark == nullptr || at == stack.levels.end() || at->frame.activation.empty()) return nullptr;
    return at->frame.activation.front().activation.get();
}

const contexts::Context* current_context(unsigned image) noexcept {
    if (ended) return nullptr;
    const Level* level = stack.seen(image);
    if (level == nullptr) return nullptr;
    const contexts::Activation* activation = current_activation(image);
    if (activation == nullptr) return level->frame.context.get();
    return activation->adopted() == nullptr ? level->frame.context.get() : activation->adopted().get();
}

void* current_owner(unsigned image) noexcept {
    const Level* level = stack.seen(image);
    return level == nullptr ? nullptr : level->entry.owner;
}

bool wrote(unsigned image) noexcept {
    const contexts::Activation* activation = current_activation(image);
    return activation != nullptr ? activation->written() : stack.seen(image) != nullptr;
}

void make_room() { stack.make_room(); }

void enter(Frame&& frame, ScopeEntry entry) noexcept { stack.push(std::move(frame), Reason::scope, entry, entry.mark); }

static bool is_entered_of_thread(Ticket ticket) noexcept { return stack.find_of_thread(ticket) != stack.levels.end(); }

void enter_of_thread(Frame&& frame, Ticket ticket) noexcept {
    stack.push(std::move(frame), Reason::thread, {.ticket = ticket}, stack.shown);
}

Left leave_of_thread(Ticket ticket) noexcept {
    if (!is_of_this_thread(ticket)) return Left::on_another_thread;
    if (ended) return Left::ended;
    leave_abandoned_of_thread();
    const auto at = stack.find_of_thread(ticket);
    if (at == stack.levels.end()) return Left::not_inside;
    if (!stack.is_free(at)) return Left::not_innermost;
    stack.take(at);
    leave_abandoned_of_thread();
    return Left::left;
}

void abandon_of_thread(Ticket ticket) noexcept {
    abandon_on_its_thread(ticket, [](Ticket own) noexcept {
        if (ended) return;
        abandon(own);
        leave_abandoned_of_thread();
    });
}

void leave_abandoned_of_thread() noexcept {
    if (ended) return;
    if (any_posted())
        for (const Ticket ticket : take_posted(is_entered_of_thread)) abandon(ticket);
    if (stack.abandoned == 0) return;
    for (auto at = stack.levels.end(); at != stack.levels.begin();) {
        --at;
        if (at->reason != Reason::thread || !at->abandoned || !stack.is_free(at)) continue;
        stack.take(at);
        at = stack.levels.end();  // others may be free now
    }
}

std::shared_ptr<contexts::Context> context_of_thread(unsigned image) {
    if (!is_of_thread(image)) return nullptr;
    return std::const_pointer_cast<contexts::Context>(current_context(image)->shared_from_this());
}

bool is_of_thread(unsigned image) noexcept {
    const Level* level = stack.seen(image);
    return level != nullptr && level->reason == Reason::thread;
}

bool may_enter() noexcept { return !ended && !process_ending.load(); }

void dismiss(Frame&& frame) noexcept { stack.dismiss(frame); }

ScopeEntry to_leave(const contexts::Context& context, Mark task) {
    const auto& levels = stack.levels;
    if (const auto at = stack.find_to_leave(context, task); at != levels.end()) return at->entry;
    const bool outer = std::any_of(levels.begin(), levels.end(), [&](const Level& level) {
        return level.reason == Reason::scope && level.frame.context.get() == &context;
    });
    if (outer)
        throw contexts::ScopeError(
            "it is not the innermost scope of this thread: scopes entered after it are still open");
    throw contexts::ScopeError(
        "this thread is not inside it: it was not entered, was left already, or was entered on another thread");
}

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
        const bool is_scope = level.reason == Reason::scope || level.reason == Reason::thread;
        if (!is_scope || level.entry.ticket != ticket || level.abandoned) continue;
        level.abandoned = true;
        ++stack.abandoned;
    }
}

bool any_abandoned() noexcept { return stack.abandoned != 0; }

ScopeEntry next_abandoned(std::size_t passed) noexcept {
    for (auto at = stack.levels.end(); at != stack.levels.begin();)
        if ((--at)->reason == Reason::scope && at->abandoned && stack.is_free(at) && passed-- == 0) return at->entry;
    return {};
}

bool begin_call(unsigned image, Mark task) noexcept {
    values::follow_debugging(image);
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

void enter_borrowed(const std::shared_ptr<contexts::Context>& context, void* owner) {
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

bool has_entered(Mark mark) noexcept { return stack.find(mark) != stack.levels.end(); }

Shown show(Mark mark, const std::vector<Values>& values) {
    if (stack.shown == mark) return {};
    Levels next;
    next.reserve(values.size());
    try {
        for (const auto& [context, owner] : values) {
            Frame frame = frame_of(context);
            if (!follows_switches() || stack.in_force(frame.image, mark) != nullptr) continue;
            if (context->reads() == nullptr) activate(frame);
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

std::size_t active_scopes(unsigned image) noexcept { return active_levels[image].load(std::memory_order_acquire); }

}  // namespace optctx::scopes
