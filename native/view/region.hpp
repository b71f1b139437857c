// A region: one piece of LLVM's static storage that is redirected as a whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace optctx::view {

enum class Kind : std::uint8_t {
    boolean,
    bool_or_default,
    int32,
    uint32,
    int64,
    uint64,
    float32,
    float64,
    character,
    string,
    enumeration,
    list,
    bits,
    other,
    set,  // a std::set of an enum
};

enum class Role : std::uint8_t {
    option,    // a cl::Option object
    variable,  // what a cl::location points at
    state,     // other storage of LLVM's: what option values are copied into, tables of pointers to options
    runtime,   // what LLVM reports through: the stream behind llvm::errs(), the fatal error handler
    decision,  // what LLVM asks whether a thread prints debug output (view/debugging.hpp)
};

// What a byte copy of the value shares with the original, and so must be kept alive for the copy.
enum class Ownership : std::uint8_t { none, string, list, list_of_strings, shared_pointer, set };

inline constexpr std::uint32_t no_slot = 0xFFFFFFFF;

// A pointer inside a region, to `offset` bytes into the storage of another.
struct Pointer {
    std::size_t at;
    std::uint32_t slot;
    std::size_t offset;
};

struct Region {
    std::uintptr_t live;  // address in the image
    std::size_t size;     // bytes
    Role role = Role::option;
    Kind kind = Kind::other;
    Ownership ownership = Ownership::none;
    std::uint32_t variable = no_slot;     // of an option with external storage: the slot of its variable
    std::size_t value_offset = 0;         // of an option: where its value (or its cl::location) is
    bool scoped = false;                  // has storage of its own in a context; otherwise LLVM's global shows
    bool written = false;                 // LLVM may write it: every activation gets a fresh copy
    bool escapes = false;                 // LLVM takes its address: copies must live for ever
    bool shared = false;                  // every thread goes on reading LLVM's own (view/debugging.hpp)
    bool has_default = false;             // Option::setDefault gives what was registered
    std::size_t initial_at = 0;           // of state: from this byte on a context starts with ...
    std::vector<std::uint8_t> initial{};  // ... these bytes, whatever LLVM has put there since
    std::vector<Pointer> pointers{};      // of state: pointers to options, which lead to this thread's own
};

}  // namespace optctx::view
