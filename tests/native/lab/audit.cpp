#include "lab/audit.hpp"

#include "arch/faults.hpp"
#include "lab/stepping.hpp"
#include "lab/watched.hpp"
#include "os/os.hpp"
#include "os/signals.hpp"

#include <dirent.h>
#include <signal.h>
#include <ucontext.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace optctx::audit {
namespace {

struct Session {
    explicit Session(const values::Space& space) : watched(space) {}
    Watched watched;
    Log log;
    os::MappedRange own_code{};
    std::atomic<std::uint64_t> neighbours{0};
    std::atomic<std::uint64_t> entitled{0};
    std::atomic<bool> failed{false};
};

// A process has one audit at a time, of one image: it has one handler for each signal.
std::optional<os::FirstHandler> fault_handler;
std::optional<os::FirstHandler> trap_handler;
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

void note(Session& audit, std::uintptr_t instruction, std::uintptr_t address, bool write) {
    const WatchedRegion* region = audit.watched.region_at(address);
    if (region == nullptr) {
        audit.neighbours.fetch_add(1);
        return;
    }
    const auto* shown = views::current_view(audit.watched.image())[region->slot];
    const bool own = instruction >= audit.own_code.begin && instruction < audit.own_code.end;
    if (own || reinterpret_cast<std::uintptr_t>(shown) == region->begin)
        audit.entitled.fetch_add(1);
    else
        audit.log.add(instruction, address, region->slot, write);
}

bool on_fault(const siginfo_t& info, ucontext_t& context) noexcept {
    const Busy here;
    Session* audit = session.load();
    if (audit == nullptr || info.si_code != SEGV_ACCERR) return false;
    const auto address = reinterpret_cast<std::uintptr_t>(info.si_addr);
    const Page* page = audit->watched.page_at(address);
    const lab::stepping::Attempt attempt = lab::stepping::attempt_of(context);
    if (page == nullptr || !allowed(*page, attempt)) return false;
    const std::uintptr_t instruction = arch::instruction_of(context);
    if (!active.load()) return lab::stepping::retry(instruction);  // the fault happened while the audit was on
    note(*audit, instruction, address, attempt == lab::stepping::Attempt::write);
    if (audit->watched.open(*page)) {
        if (!lab::stepping::begin(context, page->begin)) audit->failed = true;
        return true;
    }
    // The system refuses to open one page: give up the audit, not the process.
    audit->failed = true;
    active = false;
    return audit->watched.open();
}

bool on_trap(const siginfo_t& info, ucontext_t& context) noexcept {
    const Busy here;
    if (!lab::stepping::ended_by(info, context)) return false;
    Session* audit = session.load();
    lab::stepping::end(context, [audit](std::uintptr_t address) {
        const Page* page = audit->watched.page_at(address);
        if (page != nullptr && active.load() && !audit->watched.close(*page)) audit->failed = true;
    });
    return true;
}

// After an audit they stay as long as another thread may meet a formerly protected page.
void install() {
    if (!trap_handler) trap_handler.emplace(SIGTRAP, on_trap);
    trap_handler->check();
    if (!fault_handler) fault_handler.emplace(SIGSEGV, on_fault);
    fault_handler->check();
}

void uninstall() noexcept {
    fault_handler.reset();
    trap_handler.reset();
}

os::MappedRange own_code() {
    const auto here = reinterpret_cast<std::uintptr_t>(&on_fault);
    for (const os::MappedRange& range : os::address_space())
        if (range.executable && here >= range.begin && here < range.end) return range;
    throw AuditError("the code of optctx itself is not in the list of mappings");
}

std::vector<std::string> threads() {
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc/self/task"), closedir);
    if (folder == nullptr) throw AuditError("the threads of this process are not listed");
    std::vector<std::string> ids;
    while (const dirent* entry = readdir(folder.get()))
        if (entry->d_name[0] != '.') ids.emplace_back(entry->d_name);
    return ids;
}

// A fault would kill a thread that blocks the signal, because it cannot be handled.
bool blocks(const std::string& thread, int signal) {
    std::FILE* status = std::fopen(("/proc/self/task/" + thread + "/status").c_str(), "re");
    if (status == nullptr) return false;  // it has ended
    char line[256];
    unsigned long long mask = 0;
    while (std::fgets(line, sizeof line, status) != nullptr && std::sscanf(line, "SigBlk: %llx", &mask) != 1) continue;
    std::fclose(status);
    return (mask >> (signal - 1) & 1) != 0;
}

// The id of a thread that blocks the signal; empty if none does.
std::string thread_blocking(int signal) {
    const std::vector<std::string> ids = threads();
    const auto found = std::ranges::find_if(ids, [signal](const std::string& id) { return blocks(id, signal); });
    return found == ids.end() ? std::string() : *found;
}

// The C library briefly blocks every signal while a thread starts or ends, so retry.
void check_threads() {
    for (int wait = 0; wait < 200; ++wait) {
        if (thread_blocking(SIGSEGV).empty()) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    const std::string blocking = thread_blocking(SIGSEGV);
    if (!blocking.empty())
        throw AuditError("thread " + blocking + " blocks SIGSEGV and would be killed by a protected page");
}

}  // namespace

void start(const values::Space& space) {
    if (active.load()) throw AuditError("another audit is on in this process");
    check_threads();
    auto made = std::make_unique<Session>(space);
    made->own_code = own_code();
    const std::unique_ptr<Session> earlier(session.exchange(made.release()));
    wait_for_handlers();
    try {
        install();
        active = true;
        session.load()->watched.close();
    } catch (...) {
        active = false;
        uninstall();
        throw;
    }
}

Report stop() {
    Session* audit = session.load();
    if (audit == nullptr) throw AuditError("no audit is on in this process");
    active = false;
    wait_for_handlers();
    if (!audit->watched.open()) audit->failed = true;
    if (threads().size() == 1) uninstall();
    return {audit->log.entries(),          audit->neighbours.load(),
            audit->entitled.load(),        audit->watched.regions().size(),
            audit->watched.pages().size(), !audit->failed.load() && audit->log.lost() == 0};
}

}  // namespace optctx::audit
