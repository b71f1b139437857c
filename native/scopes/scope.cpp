#include "scopes/scope.hpp"

#include "os/fork_locks.hpp"
#include "scopes/orphans.hpp"
#include "scopes/recorder.hpp"
#include "values/debugging.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <utility>
#include <vector>

namespace optctx::scopes {
namespace {

using contexts::Activated;
using Lasts = Seen::Lasts;

views::PerImage<std::atomic<std::size_t>> inside{};  // entries of all threads
std::atomic<bool> process_ending{false};
std::atomic<std::uint64_t> next_thread{1};

// A scope that another thread entered: shown here for a call into LLVM or, with number 0, from switch to switch.
struct Carried {
    Mark* mark;
    Activated activation;
    std::size_t call;
};

// What LLVM sees in place of the scope with this mark, while the thread shows it.
struct Instead {
    Mark* mark;
    std::shared_ptr<contexts::Context> context;
    void* owner;
    Activated activation;
    std::uint64_t number;  // of a scope of C++ code; 0: LLVM's own work
    const void* work = nullptr;
};

// The activation that parts of some work see, one after the other. Null while one of them sees it.
struct Kept {
    const void* work;
    std::shared_ptr<contexts::Context> context;
    Activated activation;
};

// A call into LLVM that shows another mark than the thread did before.
struct Call {
    std::size_t number;
    Mark* shown;  // a reference to its object
    Mark* before;
    std::size_t depth;  // the number of scopes that the thread had entered before
};

// Trivial, so that code which runs after the thread's scopes have ended finds it.
thread_local constinit views::PerImage<Seen> now{};
thread_local constinit bool ended = false;
thread_local constinit std::uint64_t serial = 0;  // of the thread, from its first scope of C++ code on

void drop(const Mark* mark) noexcept {
    if (mark != nullptr) add_orphan(mark->object);
}

struct Thread {
    std::vector<Mark*> entered;  // and not left, in this order
    std::vector<Carried> carried;
    std::vector<Instead> instead;
    std::vector<Kept> kept;
    std::vector<Call> bridged;
    Mark* shown = nullptr;     // entered here, carried, or the shown one of a call
    std::uint32_t images = 0;  // a bit for each image of which this thread has shown anything
    std::size_t calls = 0;
    std::uint64_t scopes = 0;  // of C++ code, so far

    // A thread that ends inside scopes leaves them. It does not if the process is ending: LLVM's own objects are about
    // to be destroyed. But their destructors must not read through views that nothing keeps.
    ~Thread() {
        ended = true;
        if (process_ending.load()) {
            for (unsigned image = 0; image < views::max_images; ++image) set(image, {});
            return;
        }
        leave_all();
    }

    void set(unsigned image, const Seen& next) noexcept {
        hand_over_exposed();
        now[image] = next;
        views::set_current_view(image,
                                next.activation == nullptr ? views::identity_view(image) : next.activation->view());
    }

    // What LLVM has done since the last change of a view, it did to what this thread shows.
    void hand_over_exposed() const noexcept {
        views::Exposed groups;
        if (!views::take_exposed(groups)) return;
        for (unsigned image = 0; images >> image != 0; ++image)
            if (now[image].activation != nullptr) now[image].activation->expose(groups);
    }

    Carried* find_carried(const Mark* mark) noexcept {
        const auto at =
            std::find_if(carried.rbegin(), carried.rend(), [mark](const Carried& each) { return each.mark == mark; });
        return at == carried.rend() ? nullptr : &*at;
    }

    // What LLVM sees of an image in the scope with this mark: of the innermost scope of that image around it.
    Seen find(unsigned image, const Mark* mark) noexcept {
        for (;;) {
            const auto at = std::find_if(instead.rbegin(), instead.rend(), [&](const Instead& each) {
                return each.mark == mark && each.context->space().image() == image;
            });
            if (at != instead.rend())
                return {at->activation.get(), at->owner, at->number == 0 ? Lasts::call : Lasts::scope_of_thread};
            if (mark == nullptr) return {};
            if (mark->image() == image) return find(*mark);
            mark = around(*mark);
        }
    }
    Seen find(const Mark& mark) noexcept {
        if (mark.is_entered_here()) return {mark.activation.get(), mark.owner, Lasts::scope};
        if (const Carried* each = find_carried(&mark)) return {each->activation.get(), mark.owner, Lasts::call};
        return {};
    }
    static Mark* around(const Mark& mark) noexcept {
        return mark.is_entered_here() && mark.before != nullptr ? mark.before : mark.outer;
    }

    void show(Mark* mark) noexcept {
        shown = mark;
        for (unsigned image = 0; images >> image != 0; ++image)
            if ((images >> image & 1) != 0) set(image, find(image, mark));
    }

    // Whether the mark lives until what is begun now has ended.
    bool outlives(const Mark* mark) const noexcept {
        if (mark == nullptr || mark->is_entered_here()) return true;
        return std::any_of(bridged.begin(), bridged.end(), [mark](const Call& each) { return each.shown == mark; });
    }

    // A mark is no longer shown here: what was begun inside it leads past it. `depth`: of the first scope inside it.
    void pass_by(const Mark* mark, Mark* before, std::size_t depth = 0) noexcept {
        for (; depth < entered.size(); ++depth)
            if (entered[depth]->before == mark) entered[depth]->before = before;
    }

    void count(unsigned image) noexcept {
        images |= 1U << image;
        inside[image].fetch_add(1, std::memory_order_relaxed);
    }
    static void count_out(unsigned image) noexcept { inside[image].fetch_sub(1, std::memory_order_release); }

    // Adds a scope of another thread; there is room.
    void carry(Mark& mark, Activated activation, std::size_t call) noexcept {
        images |= 1U << mark.image();
        retain_mark(mark);
        carried.push_back({&mark, std::move(activation), call});
    }

    // Removes what was carried for a call, or until this switch, and is not shown any more. What stands in place of a
    // mark refers to it.
    void put_down(std::size_t call) noexcept {
        for (Carried& each : carried)
            if (each.call == call && !(call == 0 && is_hidden(each.mark))) {
                each.activation.reset();
                if (call != 0) count_out(each.mark->image());
                drop(each.mark);
            }
        std::erase_if(carried, [](const Carried& each) { return each.activation == nullptr; });
    }
    // Whether what an earlier switch carried stays over the next one.
    bool keeps(const Mark* mark) const noexcept {
        return is_hidden(mark) && std::any_of(carried.begin(), carried.end(), [mark](const Carried& each) {
                   return each.mark == mark && each.call == 0;
               });
    }
    bool is_hidden(const Mark* mark) const noexcept {
        return std::any_of(instead.begin(), instead.end(), [mark](const Instead& each) { return each.mark == mark; });
    }

    void add_instead(const std::shared_ptr<contexts::Context>& context, void* owner, std::uint64_t number,
                     const void* work = nullptr) {
        instead.reserve(instead.size() + 1);
        const unsigned image = context->space().image();
        instead.push_back({shown, context, owner, take(context, work), number, work});
        count(image);
        set(image, find(image, shown));
    }
    Activated take(const std::shared_ptr<contexts::Context>& context, const void* work) {
        if (work == nullptr) return contexts::acquire(*context);
        Kept* own = find_kept(work);
        if (own == nullptr) own = &kept.emplace_back(work, context, nullptr);
        return own->activation != nullptr ? std::move(own->activation) : contexts::acquire(*context);
    }
    Kept* find_kept(const void* work) noexcept {
        const auto at = std::find_if(kept.begin(), kept.end(), [work](const Kept& each) { return each.work == work; });
        return at == kept.end() ? nullptr : &*at;
    }

    void remove(std::vector<Instead>::iterator at) noexcept {
        Instead gone = std::move(*at);
        instead.erase(at);
        show(shown);
        count_out(gone.context->space().image());
        if (gone.work != nullptr && gone.activation->adopted() == nullptr)
            if (Kept* own = find_kept(gone.work)) std::swap(own->activation, gone.activation);
    }

    void leave(Mark& mark) noexcept {
        if (entered.back() == &mark)
            entered.pop_back();
        else
            entered.erase(std::find(entered.begin(), entered.end(), &mark));
        const Activated left = std::move(mark.activation);
        Mark* const before = std::exchange(mark.before, nullptr);
        pass_by(&mark, before);
        for (Call& each : bridged)
            if (each.before == &mark) each.before = before;
        show(shown != &mark ? shown : follows_switches() ? nullptr : before);
        count_out(mark.image());
    }

    void leave_all() noexcept {
        for (unsigned image = 0; image < views::max_images; ++image)
            if ((images >> image & 1) != 0) set(image, {});
        shown = nullptr;
        for (const Instead& each : instead) count_out(each.context->space().image());
        instead.clear();
        kept.clear();
        while (!entered.empty()) {
            Mark* const mark = entered.back();
            leave(*mark);
            drop(mark);
        }
        for (; calls > 0; --calls) put_down(calls);
        put_down(0);
        for (const Call& each : bridged) drop(each.shown);
        bridged.clear();
    }

    template <class Visit>
    void visit_activations(const Visit& visit) {
        for (Mark* each : entered) visit(each->context, *each->activation);
        for (Carried& each : carried) visit(each.mark->context, *each.activation);
        for (Instead& each : instead) visit(*each.context, *each.activation);
        for (Kept& each : kept)
            if (each.activation != nullptr) visit(*each.context, *each.activation);
    }
};

thread_local Thread thread;

// Runs in the child of a fork: only this thread's contexts keep LLVM's debug flag raised.
void raise_flags_again() {
    for (unsigned image = 0; image < views::max_images; ++image) {
        std::size_t count = 0;
        thread.visit_activations([&](const contexts::Context& context, const contexts::Activation& activation) {
            if (context.space().image() != image) return;
            count += std::size_t{context.prints()} + std::size_t{activation.raises_flag()};
        });
        if (values::Debugging* flag = values::debugging(image)) flag->raised_by(count);
    }
}

std::size_t activations_of(const contexts::Context& context) {
    std::size_t count = 0;
    thread.visit_activations([&](const contexts::Context& each, const contexts::Activation&) {
        if (&each == &context) ++count;
    });
    return count;
}

// Only this thread survives in the child of a fork: counts over all threads become this thread's.
void count_again() noexcept {
    for (auto& count : inside) count = 0;
    for (const Mark* each : thread.entered) ++inside[each->image()];
    for (const Instead& each : thread.instead) ++inside[each.context->space().image()];
    for (const Carried& each : thread.carried)
        if (each.call != 0) ++inside[each.mark->image()];
    count_recorders_again();
    contexts::Context::count_threads_again(activations_of);
    raise_flags_again();
}

[[maybe_unused]] const bool watches_forks = os::repair_after_fork(count_again);

}  // namespace

const Seen& seen(unsigned image) noexcept { return now[image]; }

const contexts::Context* current_context(unsigned image) noexcept {
    const contexts::Activation* activation = now[image].activation;
    return activation == nullptr ? nullptr : &activation->shown();
}

bool wrote(unsigned image) noexcept {
    const contexts::Activation* activation = now[image].activation;
    return activation != nullptr && activation->written();
}

bool shows(const Mark* task) noexcept { return thread.shown == task; }

Mark* shown_here() noexcept {
    return thread.shown != nullptr && thread.shown->is_entered_here() ? thread.shown : nullptr;
}

bool may_enter() noexcept { return !ended && !process_ending.load(); }

void make_room() {
    auto& entered = thread.entered;
    if (entered.size() == entered.capacity()) entered.reserve(2 * entered.size() + 4);
}

void enter(Mark& mark) noexcept {
    mark.before = thread.outlives(thread.shown) ? thread.shown : nullptr;
    thread.entered.push_back(&mark);
    thread.shown = &mark;
    thread.count(mark.image());
    thread.set(mark.image(), thread.find(mark));
}

Mark& to_leave(const contexts::Context& context, Mark* task) {
    const auto& entered = thread.entered;
    const auto own = [&](const Mark* each) { return &each->context == &context; };
    const auto last = std::find_if(entered.rbegin(), entered.rend(), own);
    if (last == entered.rend())
        throw contexts::ScopeError(
            "this thread is not inside it: it was not entered, was left already, or was entered on another thread");
    Mark& mark = follows_switches() && task != nullptr && task->is_entered_here() ? *task : **last;
    if (own(&mark) && (follows_switches() || &mark == entered.back()) && !thread.is_hidden(&mark)) return mark;
    throw contexts::ScopeError("it is not the innermost scope of this thread: scopes entered after it are still open");
}

void leave(Mark& mark) noexcept { thread.leave(mark); }

void leave_all() noexcept {
    drop_recorders();
    thread.leave_all();
}

void follow(Mark* task) {
    if (thread.shown == task) return;
    std::vector<std::pair<Mark*, Activated>> next;
    bool complete = true;
    for (Mark* mark = task; mark != nullptr; mark = mark->outer) {
        if (mark->is_entered_here()) continue;
        complete = complete && mark->context.reads() == nullptr;
        if (complete && !thread.keeps(mark)) next.emplace_back(mark, contexts::acquire(mark->context));
    }
    thread.carried.reserve(thread.carried.size() + next.size());
    if (!thread.carried.empty()) {
        thread.show(nullptr);
        thread.put_down(0);
    }
    for (auto& [mark, activation] : next) thread.carry(*mark, std::move(activation), 0);
    thread.show(complete ? task : nullptr);
}

void begin_call(unsigned image, Mark* task) {
    values::follow_debugging(image);
    const std::size_t number = ++thread.calls;
    Mark* own = task;
    while (own != nullptr && own->image() != image) own = Thread::around(*own);
    const Carried* known = own == nullptr || own->is_entered_here() ? nullptr : thread.find_carried(own);
    const bool carries = own != nullptr && !own->is_entered_here() && (known == nullptr || known->call == 0);
    if (thread.shown == task && !carries) return;
    thread.carried.reserve(thread.carried.size() + 1);
    thread.bridged.reserve(thread.bridged.size() + 1);
    if (carries) {
        thread.carry(*own, contexts::acquire(own->context), number);
        thread.count(image);
    }
    Mark* const before = thread.outlives(thread.shown) ? thread.shown : nullptr;
    if (task != nullptr) retain_mark(*task);
    thread.bridged.push_back({number, task, before, thread.entered.size()});
    thread.show(task);
}

bool end_call() noexcept {
    if (thread.calls == 0) return false;  // the call began before calls were counted
    const std::size_t number = thread.calls--;
    if (thread.bridged.empty() || thread.bridged.back().number != number) return false;
    const Call call = thread.bridged.back();
    thread.bridged.pop_back();
    if (call.shown == nullptr || !thread.outlives(call.shown)) thread.pass_by(call.shown, call.before, call.depth);
    thread.show(call.before);
    thread.put_down(number);
    drop(call.shown);
    return true;
}

std::size_t calls() noexcept { return thread.calls; }

void show_instead(const std::shared_ptr<contexts::Context>& context, void* owner, const void* work) {
    thread.add_instead(context, owner, 0, work);
}

void end_instead() noexcept {
    auto& instead = thread.instead;
    const auto last =
        std::find_if(instead.rbegin(), instead.rend(), [](const Instead& each) { return each.number == 0; });
    thread.remove(std::prev(last.base()));
}

void end_work(const void* work) noexcept {
    Kept* own = thread.find_kept(work);
    if (own == nullptr) return;
    own->activation.reset();  // before its context
    thread.kept.erase(thread.kept.begin() + (own - thread.kept.data()));
}

ScopeOfThread enter_of_thread(const std::shared_ptr<contexts::Context>& context) {
    if (serial == 0) serial = next_thread.fetch_add(1);
    thread.add_instead(context, nullptr, ++thread.scopes);
    return {serial, thread.scopes};
}

Left leave_of_thread(ScopeOfThread scope) noexcept {
    if (scope.number == 0) return Left::not_inside;  // nothing was entered
    if (scope.thread != serial) return Left::on_another_thread;
    if (ended) return Left::ended;
    const auto at = std::find_if(thread.instead.begin(), thread.instead.end(),
                                 [scope](const Instead& each) { return each.number == scope.number; });
    if (at == thread.instead.end()) return Left::not_inside;
    thread.remove(at);
    return Left::left;
}

void process_ends() noexcept { process_ending = true; }

std::size_t active_scopes(unsigned image) noexcept { return inside[image].load(std::memory_order_acquire); }

}  // namespace optctx::scopes
