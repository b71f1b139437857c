#include "patch/pointers.hpp"

#include "os/os.hpp"
#include "patch/code.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <stdexcept>
#include <string>

namespace optctx::patch {
namespace {

std::uintptr_t load(std::uintptr_t at) {
    return std::atomic_ref(*reinterpret_cast<std::uintptr_t*>(at)).load(std::memory_order_relaxed);
}

// While it lives, the pages that hold [begin, end) are writable.
class Writable {
public:
    Writable(std::uintptr_t begin, std::uintptr_t end)
        : begin_(begin), end_(end), change_(!os::is_writable(os::address_space(), begin, end - begin)) {
        if (change_) os::protect(begin_, end_, os::Access::read_write);
    }
    Writable(const Writable&) = delete;
    Writable& operator=(const Writable&) = delete;
    ~Writable() {
        if (!change_) return;
        try {
            os::protect(begin_, end_, os::Access::read);
        } catch (const os::OsError&) {
            // The pages stay writable; the pointers are correct either way.
        }
    }

private:
    std::uintptr_t begin_;
    std::uintptr_t end_;
    bool change_;
};

}  // namespace

SharedPointers::SharedPointers(std::vector<PointerChange> changes) : changes_(std::move(changes)) {
    std::sort(changes_.begin(), changes_.end(),
              [](const PointerChange& a, const PointerChange& b) { return a.at < b.at; });
    for (const PointerChange& change : changes_) {
        if (change.at % sizeof(std::uintptr_t) != 0) throw std::runtime_error("a pointer is not aligned");
        if (load(change.at) != change.before)
            throw std::runtime_error(
                "a virtual function table differs from the library's file: other code has changed it");
    }
}

void SharedPointers::use() {
    const std::lock_guard lock(changing);
    if (users_ == 0) write(&PointerChange::after);
    ++users_;
}

void SharedPointers::give_up() {
    const std::lock_guard lock(changing);
    if (users_ == 1) write(&PointerChange::before);
    --users_;
}

void SharedPointers::write(std::uintptr_t PointerChange::* value) const {
    if (changes_.empty()) return;
    // The tables are adjacent, in the data that the loader has made read-only (RELRO).
    const Writable writable(changes_.front().at, changes_.back().at + sizeof(std::uintptr_t));
    for (const PointerChange& change : changes_)
        std::atomic_ref(*reinterpret_cast<std::uintptr_t*>(change.at)).store(change.*value, std::memory_order_release);
}

std::uintptr_t place_code(const std::vector<std::uint8_t>& code, std::uintptr_t near_begin, std::uintptr_t near_end) {
    os::Mapping mapping = os::map_near(near_begin, near_end, std::max<std::size_t>(code.size(), 1));
    std::memcpy(mapping.data(), code.data(), code.size());
    const std::uintptr_t address = mapping.address();
    os::protect(address, address + code.size(), os::Access::read_execute);
    mapping.leak();
    return address;
}

}  // namespace optctx::patch
