// Patches pointers in a library's constant data (virtual function tables), all or none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace optctx::patch {

struct PointerChange {
    std::uintptr_t at;  // aligned address of the pointer
    std::uintptr_t before;
    std::uintptr_t after;
};

// Pointers that are changed while they have a user: changed for the first one, restored after the last. Other threads
// may read them at the same time. Each pointer is one aligned word, so they read either the old or the new value.
class SharedPointers {
public:
    // Checks that every pointer is aligned and has the expected value. Changes nothing.
    explicit SharedPointers(std::vector<PointerChange> changes);

    // Adds or removes a user. Each throws os::OsError with nothing changed if the pointers cannot be written.
    void use();
    void give_up();

    bool committed() const noexcept { return users_ > 0; }
    std::size_t size() const noexcept { return changes_.size(); }

private:
    void write(std::uintptr_t PointerChange::* value) const;

    std::vector<PointerChange> changes_;  // by address
    std::size_t users_ = 0;               // changed under the mutex `changing`
};

// Puts machine code into memory of its own. The memory is never freed: a thread may be executing it.
std::uintptr_t place_code(const std::vector<std::uint8_t>& code, std::uintptr_t near_begin, std::uintptr_t near_end);

}  // namespace optctx::patch
