#include "engines/turns.hpp"

#include "contexts/context.hpp"
#include "engines/gate.hpp"
#include "engines/overlay.hpp"
#include "os/fork_locks.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace optctx::engines {

// Threads that share LLVM's storage. An image without a context has the process-wide values.
struct Group {
    // A context whose values are in the storage of its image while a group that holds it has the turn.
    struct Held {
        std::shared_ptr<contexts::Context> context;
        std::size_t lending = 0;     // threads that wait while inside, or are in a nested context
        std::optional<Kept> kept{};  // the storage while no group that holds the context has the turn
    };

    std::string key;  // equal for equal values, and only for those
    // One for each image, at most. A nested group shares those of other images.
    std::vector<std::shared_ptr<Held>> held;
    std::shared_ptr<values::ProcessWide> changes;  // of options that contexts have no storage for
    bool nested = false;  // its thread is in another group as well, to which it returns: no other thread may join

    void lend() const noexcept {
        for (const auto& each : held) ++each->lending;
    }
    void take_back() const noexcept {
        for (const auto& each : held) --each->lending;
    }
};

namespace {

// The keys of contexts begin with the index of their image.
std::string key_of(std::vector<std::shared_ptr<Group::Held>>& held) {
    std::sort(held.begin(), held.end(),
              [](const auto& a, const auto& b) { return a->context->space().image() < b->context->space().image(); });
    std::string key;
    for (const auto& each : held) key += each->context->key();
    return key;
}

std::string key_of(const std::shared_ptr<values::ProcessWide>& changes) {
    if (changes == nullptr) return "";
    std::string key = "changes of image " + std::to_string(changes->image()) + ":" + changes->text();
    for (const image::LateOption& each : changes->key().late)
        key.append(" ").append(std::to_string(each.address)).append(" ").append(std::to_string(each.vtable));
    return key;
}

// Asks for no memory, so that a scope can be left where there is none.
bool are_same(const std::shared_ptr<values::ProcessWide>& a, const std::shared_ptr<values::ProcessWide>& b) noexcept {
    return a == b || (a != nullptr && b != nullptr && a->key() == b->key());
}

struct TurnState {
    os::ForkSafeMutex mutex{os::Rank::turns};
    os::ForkSafeCondition moved;
    std::shared_ptr<Group> current;  // the group whose values are in LLVM's storage
    std::shared_ptr<values::ProcessWide> in_force;
    std::size_t running = 0;  // threads of the current group that are not waiting
    // Threads that wait, first come, first served. A signal handler that runs meanwhile waits in its thread's place.
    std::vector<unsigned long> line;
};

// This thread's compilations in all images, and whether they hold a turn for the process-wide values. Such a turn lies
// below any scope.
thread_local std::size_t compilations = 0;
thread_local bool in_process = false;

class Turns final : public Engine {
public:
    Turns() : process_(std::make_shared<Group>()), state_(new TurnState) { state_->current = process_; }

    bool spans_images() const noexcept override { return true; }

    bool admit_at_once(Frame& frame, const Frame* outer) override {
        prepare(frame, outer);
        return take_at_once(frame, outer, false);
    }

    Carried carry(Frame& frame, const Frame* outer) override {
        prepare(frame, outer);
        return take_at_once(frame, outer, true) ? Carried::fully : Carried::not_at_all;
    }

    void admit(Frame& frame, const Frame* outer) override {
        const std::shared_ptr<Group> from = group_of(outer);
        os::ForkSafeLock lock(state_->mutex);
        state_->line.reserve(state_->line.size() + 1);
        lend(from);
        // A signal handler may use LLVM, so none runs on a thread that has lent its turn.
        wait(lock, from == nullptr, [&] { return state_->running == 0 || may_join(frame, from); });
        take(frame, from);
    }

    void leave(Frame& frame, const Frame* outer, Frame* above) noexcept override {
        const std::shared_ptr<Group> back = group_of(outer);
        if (back == frame.group) return;
        const std::lock_guard lock(state_->mutex);
        if (above != nullptr) {
            // Leaving `above` returns to the group that this frame was entered from, so this thread never takes the
            // frame's turn back.
            if (above->group != frame.group) frame.group->take_back();
            return;
        }
        --state_->running;
        if (back != nullptr) {
            // No other thread is inside a nested group.
            take_back(back);
        } else if (state_->running == 0) {
            change_to(process_);
        }
        settle();
    }

    bool begin_compilation_at_once(const Frame* scope) override {
        if (compilations == 0 && scope == nullptr) {
            const std::lock_guard lock(state_->mutex);
            if (somebody_waits() || (state_->running != 0 && state_->current != process_)) return false;
            start_in_process();
        }
        ++compilations;
        return true;
    }

    void begin_compilation(const Frame* scope) override {
        if (begin_compilation_at_once(scope)) return;
        os::ForkSafeLock lock(state_->mutex);
        wait(lock, true, [&] { return state_->running == 0 || state_->current == process_; });
        start_in_process();
        ++compilations;
        settle();
    }

    void end_compilation(const Frame* scope) noexcept override {
        if (--compilations > 0 || !in_process) return;
        in_process = false;
        if (scope != nullptr) return;
        const std::lock_guard lock(state_->mutex);
        --state_->running;
        settle();
    }

    void after_fork_in_child(const Frame* scope) noexcept override {
        const std::lock_guard lock(state_->mutex);
        std::erase_if(state_->line, [](unsigned long thread) { return thread != pthread_self(); });
        const std::shared_ptr<Group> own = group_of(scope);
        state_->running = own != nullptr ? 1 : 0;
        if (own == nullptr) change_to(process_);
    }

private:
    bool take_at_once(Frame& frame, const Frame* outer, bool ahead_of_others) {
        const std::shared_ptr<Group> from = group_of(outer);
        if (stay(frame, outer, from)) return true;
        const std::lock_guard lock(state_->mutex);
        const bool alone = state_->running == (from != nullptr ? 1 : 0);
        if ((somebody_waits() && !ahead_of_others) || !(alone || may_join(frame, from))) return false;
        lend(from);
        take(frame, from);
        return true;
    }

    // Returns the group that this thread is in below a frame that it enters or leaves.
    std::shared_ptr<Group> group_of(const Frame* scope) const {
        if (scope != nullptr) return scope->group;
        return in_process ? process_ : nullptr;
    }

    // Makes a group for the frame, without threads. Process-wide changes stay in force in nested contexts.
    void prepare(Frame& frame, const Frame* outer) const {
        const std::shared_ptr<Group> from = group_of(outer);
        const std::shared_ptr<values::ProcessWide> outer_changes = from == nullptr ? nullptr : from->changes;
        std::shared_ptr<values::ProcessWide> changes =
            frame.context == nullptr ? nullptr : frame.context->process_wide();
        if (changes == nullptr || are_same(changes, outer_changes)) {
            changes = outer_changes;
        } else if (outer_changes != nullptr) {
            throw gate::GateError("cannot apply " + changes->text() +
                                  " process-wide: this thread is inside a context with other process-wide values (" +
                                  outer_changes->text() + ")");
        }
        std::vector<std::shared_ptr<Group::Held>> held =
            from == nullptr ? std::vector<std::shared_ptr<Group::Held>>{} : from->held;
        std::erase_if(held, [&](const auto& each) { return each->context->space().image() == frame.image; });
        if (frame.context != nullptr) held.push_back(std::make_shared<Group::Held>(Group::Held{frame.context}));
        std::string key = key_of(held) + key_of(changes);
        if (frame.context != nullptr && frame.context->is_apart())
            key += " entry " + std::to_string(entries_apart_.fetch_add(1, std::memory_order_relaxed));
        frame.group = std::make_shared<Group>(Group{std::move(key), std::move(held), changes, from != nullptr});
    }

    // If this thread already has the same values, it stays in its group.
    static bool stay(Frame& frame, const Frame* outer, const std::shared_ptr<Group>& from) {
        if (outer == nullptr || from->key != frame.group->key) return false;
        frame.group = from;
        return true;
    }

    bool may_join(const Frame& frame, const std::shared_ptr<Group>& from) const {
        return from == nullptr && !state_->current->nested && state_->current->key == frame.group->key;
    }

    bool somebody_waits() const { return !state_->line.empty(); }

    void settle() noexcept { state_->moved.notify_all(); }

    void lend(const std::shared_ptr<Group>& from) noexcept {
        if (from == nullptr) return;
        --state_->running;
        from->lend();
        settle();
    }

    template <class Ready>
    void wait(os::ForkSafeLock& lock, bool runs_signal_handlers, const Ready& ready) {
        TurnState& state = *state_;
        const bool has_place = std::find(state.line.begin(), state.line.end(), pthread_self()) != state.line.end();
        if (!has_place) state.line.push_back(pthread_self());
        const auto leave_line = [&] {
            if (!has_place) std::erase(state.line, pthread_self());
        };
        auto next_call = std::chrono::steady_clock::now() + gate::patience;
        while (state.line.front() != pthread_self() || !ready()) {
            state.moved.wait_for(lock, gate::patience);
            const auto now = std::chrono::steady_clock::now();
            if (!runs_signal_handlers || now < next_call) continue;
            next_call = now + gate::patience;
            lock.unlock();
            try {
                gate::call_while_waiting({});
            } catch (...) {
                lock.lock();
                leave_line();
                settle();
                throw;
            }
            lock.lock();
        }
        leave_line();
    }

    // Joins the current group, or makes the frame's own group the current one while no thread is inside.
    void take(Frame& frame, const std::shared_ptr<Group>& from) {
        if (may_join(frame, from)) {
            frame.group = state_->current;
        } else {
            try {
                change_to(frame.group);
            } catch (...) {
                if (from != nullptr) take_back(from);
                settle();
                throw;
            }
        }
        ++state_->running;
        settle();
    }

    void take_back(const std::shared_ptr<Group>& group) {
        change_to(group);
        group->take_back();
        ++state_->running;
    }

    void start_in_process() {
        change_to(process_);
        in_process = true;
        ++state_->running;
    }

    // Puts the group's values into LLVM's storage. If that throws, the storage holds the process-wide values.
    void change_to(const std::shared_ptr<Group>& group) {
        TurnState& state = *state_;
        if (state.current == group) return;
        put_away(*state.current);
        state.current = process_;
        if (!are_same(state.in_force, group->changes)) undo_changes();
        if (group->changes != nullptr && state.in_force == nullptr) {
            group->changes->apply();
            state.in_force = group->changes;
        }
        try {
            load(*group);
        } catch (...) {
            undo_changes();
            throw;
        }
        state.current = group;
    }

    void undo_changes() noexcept {
        if (state_->in_force != nullptr) values::undo_process_wide(state_->in_force->image());
        state_->in_force = nullptr;
    }

    // The first time, no thread is inside LLVM. The space of an attached image lives as long as the process.
    Overlay& overlay_of(const Group::Held& held) {
        values::Space& space = held.context->space();
        std::unique_ptr<Overlay>& overlay = overlays_[space.image()];
        if (overlay == nullptr) overlay = std::make_unique<Overlay>(space);
        return *overlay;
    }

    void put_away(const Group& group) {
        for (const auto& each : group.held) {
            if (each->lending > 0)
                each->kept = overlay_of(*each).unload_and_keep();
            else
                overlay_of(*each).unload();
        }
    }

    // If it throws, nothing is loaded.
    void load(const Group& group) {
        std::size_t loaded = 0;
        try {
            for (; loaded < group.held.size(); ++loaded) {
                const Group::Held& held = *group.held[loaded];
                if (held.kept)
                    overlay_of(held).load(*held.kept);
                else
                    overlay_of(held).load(held.context->values());
            }
        } catch (...) {
            while (loaded-- > 0) {
                const Group::Held& held = *group.held[loaded];
                overlay_of(held).unload(held.kept.has_value());
            }
            throw;
        }
        for (const auto& each : group.held) each->kept.reset();
    }

    const std::shared_ptr<Group> process_;
    TurnState* const state_;
    mutable std::atomic<std::uint64_t> entries_apart_{0};
    views::PerImage<std::unique_ptr<Overlay>> overlays_;  // for the thread with the turn
};

auto& only_turns = *new Turns;  // outlives every thread

}  // namespace

Engine& turns() noexcept { return only_turns; }

}  // namespace optctx::engines
