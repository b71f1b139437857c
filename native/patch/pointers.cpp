#include "patch/pointers.hpp"

#include "os/os.hpp"
#include "patch/code.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <stdexcept>

namespace optctx::patch {
namespace {

std::uintptr_t load(std::uintptr_t at) {
    return std::atomic_ref(*reinterpret_cast<std::uintptr_t*>(at)).load(std::memory_order_relaxed);
}

// While it lives, the pages that hold these pointers are writable. Then each has its own protection again. Pages
// between them belong to others.
class Writable {
public:
    explicit Writable(const std::vector<PointerChange>& by_address) : Writable() {  // from here on, ~Writable runs
        std::size_t mapped = 0;
        for (const os::MappedRange& range : os::address_space()) {
            const auto first = std::ranges::lower_bound(by_address, range.begin, {}, &PointerChange::at);
            const auto end = std::ranges::lower_bound(by_address, range.end, {}, &PointerChange::at);
            mapped += static_cast<std::size_t>(end - first);
            if (first == end || range.permits(PROT_WRITE)) continue;
            const std::uintptr_t page = os::page_size(), last = std::prev(end)->at;
            opened_.push_back({first->at / page * page, (last / page + 1) * page, range.access});
            os::protect(opened_.back().begin, opened_.back().end, os::Access::read_write);
        }
        if (mapped < by_address.size()) throw os::OsError("mprotect", by_address.front().at, ENOMEM);
    }
    Writable(const Writable&) = delete;
    Writable& operator=(const Writable&) = delete;
    // A page whose protection cannot be changed stays writable. Its pointers are correct either way.
    ~Writable() {
        for (const auto& [begin, end, own] : opened_) os::try_protect(begin, end, own);
    }

private:
    struct Span {
        std::uintptr_t begin;
        std::uintptr_t end;
        os::Access own;
    };
    Writable() = default;

    std::vector<Span> opened_;  // what was not writable before
};

}  // namespace

SharedPointers::SharedPointers(std::vector<PointerChange> changes) : changes_(std::move(changes)) {
    std::ranges::sort(changes_, {}, &PointerChange::at);
    for (const PointerChange& change : changes_) {
        if (change.at % sizeof(std::uintptr_t) != 0) throw std::runtime_error("a pointer is not aligned");
        if (load(change.at) != change.before)
            throw std::runtime_error(
                "a pointer to a function differs from the library's file: other code has changed it, or the loader has "
                "bound it to another library or not yet (load this one with RTLD_NOW, or with LD_BIND_NOW=1)");
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
    const Writable writable(changes_);  // tables lie in the data that the loader has made read-only (RELRO)
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
