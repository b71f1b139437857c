#include "lab/audit.hpp"

#include "arch/faults.hpp"
#include "lab/stepping.hpp"
#include "os/os.hpp"
#include "os/signals.hpp"
#include "views/view.hpp"

#include <signal.h>
#include <ucontext.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace optctx::audit {
namespace {

struct Region {
    std::uintptr_t begin;
    std::uintptr_t end;
    std::uint32_t slot;
};

struct Page {
    std::uintptr_t begin;
    os::Access usual;  // protection outside audits
};

// Returns the last item of a sorted range that begins at or before the address, or null.
template <class T>
const T* last_before(const std::vector<T>& sorted, std::uintptr_t address) noexcept {
    const auto next = std::upper_bound(sorted.begin(), sorted.end(), address,
                                       [](std::uintptr_t a, const T& item) { return a < item.begin; });
    return next == sorted.begin() ? nullptr : &*std::prev(next);
}

// The storage that is watched, built before an audit, and what was seen. Its functions are safe in a signal handler.
class Session {
public:
    explicit Session(const values::Space& space);

    const Page* page_at(std::uintptr_t address) const noexcept {
        const Page* page = last_before(pages_, address);
        return page != nullptr && address - page->begin < page_bytes_ ? page : nullptr;
    }
    // A page that the system does not close or open makes the report incomplete.
    bool protect(const Page& page, bool closed) noexcept {
        const os::Access access = closed ? os::Access::none : page.usual;
        const bool done = os::try_protect(page.begin, page.begin + page_bytes_, access) == 0;
        if (!done) failed = true;
        return done;
    }
    void protect_all(bool closed) noexcept {
        for (const Page& page : pages_) protect(page, closed);
    }
    void note(std::uintptr_t instruction, std::uintptr_t address, bool write) noexcept;
    Report report() const {
        return {seen_, neighbours_.load(), entitled_.load(), regions_.size(), pages_.size(), !failed.load()};
    }

    std::atomic<bool> failed{false};

private:
    void add(const Seen& one) noexcept;

    const unsigned image_;
    const std::uintptr_t page_bytes_ = os::page_size();
    std::vector<Region> regions_;  // by address
    std::vector<Page> pages_;      // by address
    os::MappedRange own_code_{};
    std::atomic<bool> adding_{false};
    std::vector<Seen> seen_;  // never reallocated
    std::atomic<std::uint64_t> neighbours_{0};
    std::atomic<std::uint64_t> entitled_{0};
};

Session::Session(const values::Space& space) : image_(space.image()) {
    seen_.reserve(4096);
    const auto& regions = space.regions();
    for (std::uint32_t slot = 0; slot < regions.size(); ++slot)
        if (regions[slot].scoped && !regions[slot].shared)
            regions_.push_back({regions[slot].live, regions[slot].live + regions[slot].size, slot});
    std::ranges::sort(regions_, {}, &Region::begin);
    const auto mapped = os::address_space();
    const auto range_of = [&mapped](std::uintptr_t address) {
        return *std::ranges::upper_bound(mapped, address, {}, &os::MappedRange::end);
    };
    own_code_ = range_of(reinterpret_cast<std::uintptr_t>(&last_before<Page>));
    for (const Region& region : regions_) {
        for (std::uintptr_t page = region.begin / page_bytes_ * page_bytes_; page < region.end; page += page_bytes_) {
            if (pages_.empty() || pages_.back().begin < page) pages_.push_back({page, range_of(page).access});
        }
    }
}

void Session::note(std::uintptr_t instruction, std::uintptr_t address, bool write) noexcept {
    const Region* region = last_before(regions_, address);
    if (region == nullptr || address >= region->end) {
        neighbours_.fetch_add(1);
        return;
    }
    const auto* shown = views::current_view(image_)[region->slot];
    const bool own = instruction >= own_code_.begin && instruction < own_code_.end;
    if (own || reinterpret_cast<std::uintptr_t>(shown) == region->begin)
        entitled_.fetch_add(1);
    else
        add({instruction, address, region->slot, write, 1});
}

void Session::add(const Seen& one) noexcept {
    while (adding_.exchange(true)) continue;
    const auto known = std::ranges::find_if(seen_, [&one](const Seen& each) {
        return each.instruction == one.instruction && each.slot == one.slot && each.write == one.write;
    });
    if (known != seen_.end())
        ++known->count;
    else if (seen_.size() < seen_.capacity())
        seen_.push_back(one);
    else
        failed = true;
    adding_ = false;
}

// A process has one audit at a time, of one image: it has one handler for each signal.
std::atomic<Session*> session{nullptr};
std::atomic<bool> active{false};
std::atomic<unsigned> busy{0};  // threads in a handler; the session and the protections must stay until it is 0

struct Busy {
    Busy() noexcept { busy.fetch_add(1); }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;
    ~Busy() { busy.fetch_sub(1); }
};

void wait_for_handlers() {
    while (busy.load() != 0) std::this_thread::yield();
}

bool allowed(const Page& page, lab::stepping::Attempt attempt) {
    return attempt == lab::stepping::Attempt::read ||
           (attempt == lab::stepping::Attempt::write && page.usual == os::Access::read_write);
}

bool on_fault(const siginfo_t& info, ucontext_t& context) noexcept {
    const Busy here;
    Session* audit = session.load();
    if (audit == nullptr || info.si_code != SEGV_ACCERR) return false;
    const auto address = reinterpret_cast<std::uintptr_t>(info.si_addr);
    const Page* page = audit->page_at(address);
    const lab::stepping::Attempt attempt = lab::stepping::attempt_of(context);
    if (page == nullptr || !allowed(*page, attempt)) return false;
    const std::uintptr_t instruction = arch::instruction_of(context);
    if (!active.load()) return lab::stepping::retry(instruction);  // the fault happened while the audit was on
    audit->note(instruction, address, attempt == lab::stepping::Attempt::write);
    if (!audit->protect(*page, false)) return false;
    if (!lab::stepping::begin(context, page->begin)) audit->failed = true;
    return true;
}

void close_again(std::uintptr_t address) noexcept {
    Session* audit = session.load();
    const Page* page = audit->page_at(address);
    if (page != nullptr && active.load()) audit->protect(*page, true);
}

struct sigaction former_trap{};

void on_trap(int, siginfo_t* info, void* context) {
    const Busy here;
    if (lab::stepping::end(*info, *static_cast<ucontext_t*>(context), close_again)) return;
    sigaction(SIGTRAP, &former_trap, nullptr);  // of no step: it is for who handled traps before
    raise(SIGTRAP);
}

void install() {
    static const os::FirstHandler fault(on_fault);
    os::check_asked_first();
    struct sigaction trap{};
    trap.sa_sigaction = on_trap;
    trap.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    struct sigaction before{};
    if (sigaction(SIGTRAP, &trap, &before) != 0) throw os::OsError("sigaction", 0, errno);
    if (before.sa_sigaction != on_trap) former_trap = before;
}

}  // namespace

void start(const values::Space& space) {
    if (active.load()) throw std::runtime_error("another audit is on in this process");
    install();
    auto made = std::make_unique<Session>(space);
    const std::unique_ptr<Session> earlier(session.exchange(made.release()));
    wait_for_handlers();
    active = true;
    session.load()->protect_all(true);
}

Report stop() {
    if (!active.exchange(false)) throw std::runtime_error("no audit is on in this process");
    wait_for_handlers();
    session.load()->protect_all(false);
    return session.load()->report();
}

}  // namespace optctx::audit
