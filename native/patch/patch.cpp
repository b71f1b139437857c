#include "patch/patch.hpp"

#include "patch/breakpoints.hpp"
#include "patch/changing.hpp"

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <set>
#include <stdexcept>
#include <thread>

namespace optctx::patch {
namespace {

constexpr std::size_t jump_size = 5;  // jmp rel32
constexpr std::uint8_t jump_opcode = 0xE9;
constexpr std::uint8_t breakpoint = 0xCC;  // int3

std::string at_address(std::uintptr_t address) {
    char text[32];
    std::snprintf(text, sizeof text, "%#lx", static_cast<unsigned long>(address));
    return text;
}

std::int32_t distance(std::uintptr_t from, std::uintptr_t to) {
    const auto wide = static_cast<std::intptr_t>(to - from);
    const auto narrow = static_cast<std::int32_t>(wide);
    if (narrow != wide) throw std::runtime_error("no jump reaches from " + at_address(from) + " to " + at_address(to));
    return narrow;
}

void append_jump(std::vector<std::uint8_t>& code, std::uintptr_t next_instruction, std::uintptr_t to) {
    const std::int32_t rel = distance(next_instruction, to);
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&rel);
    code.push_back(jump_opcode);
    code.insert(code.end(), bytes, bytes + sizeof rel);
}

}  // namespace

// Makes the code writable for its lifetime and writes into it, counting steps.
class Transaction::Writer {
public:
    Writer(std::uintptr_t begin, std::uintptr_t end, std::size_t fail_at)
        : begin_(begin), end_(end), fail_at_(fail_at), alone_(os::thread_count() == 1) {
        os::protect(begin_, end_, os::Access::read_write_execute);
    }
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;
    ~Writer() {
        try {
            os::protect(begin_, end_, os::Access::read_execute);
        } catch (const os::OsError&) {
            // The pages stay writable; what was written is right either way.
        }
    }
    void write(std::uintptr_t to, const std::uint8_t* bytes, std::size_t count) {
        if (++step_ == fail_at_) throw os::OsError("write of code (asked to fail)", to, EFAULT);
        auto* target = reinterpret_cast<volatile std::uint8_t*>(to);
        for (std::size_t i = 0; i < count; ++i) target[i] = bytes[i];
    }
    void serialise() {
        std::atomic_thread_fence(std::memory_order_seq_cst);
        if (!alone_) os::sync_core();
    }
    // From now on nothing may fail: the way back.
    void must_succeed() { fail_at_ = 0; }

private:
    std::uintptr_t begin_;
    std::uintptr_t end_;
    std::size_t fail_at_;
    bool alone_;
    std::size_t step_ = 0;
};

Transaction::Transaction(std::vector<Site> sites, std::uintptr_t text_begin, std::uintptr_t text_end)
    : text_begin_(text_begin), text_end_(text_end) {
    std::sort(sites.begin(), sites.end(), [](const Site& a, const Site& b) { return a.address < b.address; });
    std::size_t size = 0;
    for (const Site& site : sites) {
        if (site.before.size() < jump_size)
            throw std::runtime_error("the instruction at " + at_address(site.address) + " is too short for a jump");
        if (site.address < text_begin || site.address + site.before.size() > text_end)
            throw std::runtime_error("the site at " + at_address(site.address) + " is outside the code");
        if (std::memcmp(reinterpret_cast<const void*>(site.address), site.before.data(), site.before.size()) != 0)
            throw std::runtime_error("the bytes at " + at_address(site.address) +
                                     " are not those of the library's file: somebody changed the code");
        size += site.code.size() + jump_size;
        sites_.push_back({site.address, site.before, {}, 0});
    }
    check_overlap();
    trampolines_ = os::map_near(text_begin, text_end, std::max<std::size_t>(size, 1));
    used_ = size;
    write_trampolines(sites);
}

void Transaction::check_overlap() const {
    for (std::size_t i = 1; i < sites_.size(); ++i)
        if (sites_[i - 1].address + sites_[i - 1].before.size() > sites_[i].address)
            throw std::runtime_error("the sites at " + at_address(sites_[i - 1].address) + " and " +
                                     at_address(sites_[i].address) + " overlap");
}

void Transaction::write_trampolines(const std::vector<Site>& sites) {
    std::uintptr_t at = trampolines_.address();
    std::uint8_t* out = trampolines_.data();
    for (std::size_t i = 0; i < sites.size(); ++i) {
        Placed& placed = sites_[i];
        placed.trampoline = at;
        std::vector<std::uint8_t> code = sites[i].code;
        append_jump(code, at + code.size() + jump_size, placed.address + placed.before.size());
        std::memcpy(out, code.data(), code.size());
        out += code.size();
        at += code.size();
        append_jump(placed.after, placed.address + jump_size, placed.trampoline);
        placed.after.resize(placed.before.size(), breakpoint);  // never reached
    }
    os::protect(trampolines_.address(), trampolines_.address() + used_, os::Access::read_execute);
}

void Transaction::check_threads() const {
    if (os::thread_count() == 1) return;
    if (!os::register_sync_core())
        throw os::OsError("membarrier(SYNC_CORE), to change code under other threads (attach before any is started),",
                          0, ENOSYS);
    // The C library blocks all signals for a moment while a thread starts or ends; only those that go on count.
    auto blocking = os::threads_blocking(SIGTRAP);
    for (int tries = 0; !blocking.empty() && tries < 100; ++tries) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        const auto now = os::threads_blocking(SIGTRAP);
        std::erase_if(blocking, [&](int id) { return std::find(now.begin(), now.end(), id) == now.end(); });
    }
    if (!blocking.empty())
        throw std::runtime_error("thread " + std::to_string(blocking.front()) +
                                 " blocks SIGTRAP and would be killed if it ran LLVM now; attach before it is started");
}

void Transaction::replace(Writer& writer, std::vector<std::uint8_t> Placed::* bytes) const {
    for (const Placed& site : sites_) writer.write(site.address, &breakpoint, 1);
    writer.serialise();
    for (const Placed& site : sites_)
        writer.write(site.address + 1, (site.*bytes).data() + 1, (site.*bytes).size() - 1);
    writer.serialise();
    for (const Placed& site : sites_) writer.write(site.address, (site.*bytes).data(), 1);
    writer.serialise();
}

void Transaction::commit(std::size_t fail_at) {
    if (committed_ || sites_.empty()) return;
    check_threads();
    std::vector<std::pair<std::uintptr_t, std::uintptr_t>> pairs;
    for (const Placed& site : sites_) pairs.emplace_back(site.address, site.trampoline);
    expect_breakpoints(std::move(pairs));
    const std::lock_guard lock(changing);  // no child begins with a part of the code changed
    trampolines_.leak();                   // from here on a thread may be in one, whatever becomes of this transaction
    Writer writer(text_begin_, text_end_, fail_at);
    try {
        replace(writer, &Placed::after);
    } catch (...) {
        writer.must_succeed();
        replace(writer, &Placed::before);
        throw;
    }
    committed_ = true;
}

void Transaction::undo() {
    if (!committed_) return;
    check_threads();
    const std::lock_guard lock(changing);
    Writer writer(text_begin_, text_end_, 0);
    replace(writer, &Placed::before);
    committed_ = false;
}

std::size_t Transaction::pages() const noexcept {
    std::set<std::uintptr_t> pages;
    for (const Placed& site : sites_) pages.insert(site.address / os::page_size());
    return pages.size();
}

std::uintptr_t Transaction::trampoline_of(std::uintptr_t site) const {
    const auto found = std::lower_bound(sites_.begin(), sites_.end(), site,
                                        [](const Placed& placed, std::uintptr_t a) { return placed.address < a; });
    if (found == sites_.end() || found->address != site) throw std::runtime_error("no site at " + at_address(site));
    return found->trampoline;
}

}  // namespace optctx::patch
