#include "patch/code.hpp"

#include "arch/faults.hpp"
#include "os/replacement.hpp"

#include <algorithm>
#include <cstring>
#include <set>
#include <stdexcept>

namespace optctx::patch {

Transaction::Transaction(std::vector<arch::Change> changes, std::uintptr_t text_begin, std::uintptr_t text_end) {
    std::ranges::sort(changes, {}, &arch::Change::address);
    std::size_t size = 0;
    sites_.reserve(changes.size());
    for (const arch::Change& site : changes) {
        if (site.before.size() < arch::jump_size)
            throw std::runtime_error("the instruction at " + os::hex(site.address) + " is too short for a jump");
        if (site.before.size() > arch::longest_instruction)
            throw std::runtime_error("no instruction is " + std::to_string(site.before.size()) + " bytes long");
        if (site.address < text_begin || site.address + site.before.size() > text_end)
            throw std::runtime_error("the site at " + os::hex(site.address) + " is outside the code");
        if (!sites_.empty() && sites_.back().end() > site.address)
            throw std::runtime_error("the sites at " + os::hex(sites_.back().address) + " and " +
                                     os::hex(site.address) + " overlap");
        size += site.code.size() + arch::jump_size;
        sites_.push_back({site.address, 0, {}, {}, static_cast<std::uint8_t>(site.before.size())});
        std::ranges::copy(site.before, sites_.back().before.begin());
    }
    check_bytes(&Placed::before);
    if (sites_.empty()) return;
    trampolines_ = os::map_near(text_begin, text_end, size);
    write_trampolines(changes);
}

void Transaction::write_trampolines(const std::vector<arch::Change>& changes) {
    std::uintptr_t at = trampolines_.address();
    std::uint8_t* out = trampolines_.data();
    std::vector<std::uint8_t> code, jump;
    for (std::size_t i = 0; i < changes.size(); ++i) {
        Placed& placed = sites_[i];
        placed.trampoline = at;
        code = changes[i].code;
        arch::append_jump(code, at + code.size() + arch::jump_size, placed.end());
        std::memcpy(out, code.data(), code.size());
        out += code.size();
        at += code.size();
        jump.clear();
        arch::append_jump(jump, placed.address + arch::jump_size, placed.trampoline);
        jump.resize(placed.size, arch::filler);
        std::ranges::copy(jump, placed.after.begin());
    }
    os::protect(trampolines_.address(), at, os::Access::read_execute);
}

void Transaction::check_bytes(Bytes Placed::* expected) const {
    for (const Placed& site : sites_) {
        if (std::memcmp(reinterpret_cast<const void*>(site.address), (site.*expected).data(), site.size) != 0)
            throw std::runtime_error("the bytes at " + os::hex(site.address) +
                                     " are not those expected: other code has changed these bytes");
    }
}

void Transaction::replace(Bytes Placed::* before, Bytes Placed::* after) const {
    check_bytes(before);
    os::Replacement replacement(sites_.front().address, sites_.back().end());
    for (const Placed& site : sites_) replacement.write(site.address, {(site.*after).data(), site.size});
    replacement.install();
}

void Transaction::commit() {
    const std::lock_guard lock(changing);
    if (committed_ || sites_.empty()) return;
    replace(&Placed::before, &Placed::after);
    trampolines_.leak();  // from here on a thread may be inside a trampoline, whatever happens to this transaction
    committed_ = true;
}

void Transaction::undo() {
    const std::lock_guard lock(changing);
    if (!committed_) return;
    replace(&Placed::after, &Placed::before);
    committed_ = false;
}

std::size_t Transaction::pages() const noexcept {
    std::set<std::uintptr_t> pages;
    for (const Placed& site : sites_) pages.insert(site.address / os::page_size());
    return pages.size();
}

std::uintptr_t Transaction::trampoline_of(std::uintptr_t site) const {
    const auto found = std::ranges::lower_bound(sites_, site, {}, &Placed::address);
    if (found == sites_.end() || found->address != site) throw std::runtime_error("no site at " + os::hex(site));
    return found->trampoline;
}

}  // namespace optctx::patch
