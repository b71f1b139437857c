// Options that cannot be scoped, changed in LLVM's own objects and put back exactly.
#pragma once

#include "view/space.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace optctx::view {

struct Change {
    std::uintptr_t option;  // address of LLVM's own cl::Option
    std::string name;       // it is given under
    std::vector<std::optional<std::string>> texts;
    Kind kind;
    std::size_t value_offset;
    std::uintptr_t variable;    // what cl::location points at, or 0
    std::size_t variable_size;  // bytes
    std::uintptr_t state;       // an object that the option's callback changes, or 0
    std::size_t state_size;
    std::uintptr_t debug_types;  // llvm::CurrentDebugType, which it adds to and LLVM is told again, or 0
};

// The bytes of an option before a change.
struct Saved {
    std::vector<std::uint8_t> head;  // occurrence count, flags, position
    std::vector<std::uint8_t> value;
    std::vector<std::uint8_t> variable;
    std::vector<std::uint8_t> state;
    std::vector<std::string> debug_types;  // as -debug-only takes them
};

// LLVM's storage at an address, as it was before.
struct Covered {
    std::uintptr_t address;
    std::vector<std::uint8_t> bytes;
};

// A set of changes that is in force or not. `key` is the same for the same changes and for no others. Always owned
// by a C++ shared_ptr, as Context is.
class ProcessWide : public std::enable_shared_from_this<ProcessWide> {
public:
    ProcessWide(Space& space, std::vector<Change> changes, std::string key, std::uintptr_t set_debug_types);
    const std::string& key() const noexcept { return key_; }
    // While it is in force LLVM prints debug output of some types, in contexts that have it.
    bool debugs() const noexcept;
    // Has LLVM parse every value into its own objects. Throws ParseError with everything put back. Call with the gate
    // closed: other threads must not be reading them.
    void apply();
    // What was there before, while the changes are in force: copies, with the addresses that they were taken from.
    // Where two are of the same storage, the first is what was there before all changes.
    std::vector<Covered> covered() const;

private:
    friend void undo_process_wide() noexcept;
    void undo() noexcept;
    void raise_flag() noexcept;
    void lower_flag() noexcept;
    void undo_from(std::size_t count) noexcept;
    void undo_one(const Change& change, const Saved& saved) noexcept;

    Space& space_;
    std::vector<Change> changes_;
    std::string key_;
    std::uintptr_t set_debug_types_;
    std::vector<Saved> saved_;
};

// Undoes the changes in force, if there are any; with the gate closed, as for `apply`.
void undo_process_wide() noexcept;
// What the changes in force cover; the changes may be undone by another thread at any moment.
std::vector<Covered> covered_storage();
// Whether the changes in force have LLVM print debug output.
bool debugs_process_wide();
// Counts what was applied and undone: odd from the moment when a change is begun until it is undone.
std::uint64_t process_wide_epoch() noexcept;

}  // namespace optctx::view
