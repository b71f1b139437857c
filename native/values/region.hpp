// A region: one piece of LLVM's static storage that is redirected as a whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace optctx::values {

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
    long_string,    // libstdc++'s newer std::string; `string` is the copy-on-write one
    libcxx_string,  // libc++'s
};

enum class Role : std::uint8_t {
    option,    // a cl::Option object
    variable,  // target of a cl::location
    state,     // other storage of LLVM: copies of option values, tables of pointers to options
    runtime,   // objects through which LLVM reports: the stream behind llvm::errs(), the fatal error handler
    decision,  // decides whether a thread prints debug output (values/debugging.hpp)
};

// What a byte copy of the value shares with the original. The shared object must stay alive as long as the copy.
enum class Ownership : std::uint8_t { none, string, list, list_of_strings, shared_pointer };

// Which standard library laid it out: libstdc++ with strings that are copied when they are written to, libstdc++ with
// its newer ones, or libc++.
enum class Abi : std::uint8_t { copy_on_write, libstdcxx, libcxx };

inline constexpr std::uint32_t no_slot = 0xFFFFFFFF;

// A pointer in a region, to `offset` bytes into the storage of another region.
struct Pointer {
    std::size_t at;
    std::uint32_t slot;
    std::size_t offset;
};

// The first nine members are what Python makes one of, in this order (python/bind_values.cpp).
struct Region {
    std::uintptr_t live;  // address in the image
    std::size_t size;     // bytes
    Role role = Role::option;
    Kind kind = Kind::other;
    Ownership ownership = Ownership::none;
    Abi abi = Abi::libstdcxx;             // of what is owned
    bool scoped = false;                  // a context has storage of its own; otherwise it shows LLVM's global
    bool written = false;                 // LLVM may write it: every activation gets a fresh copy
    bool escapes = false;                 // LLVM takes its address: copies must never be freed
    std::uint32_t variable = no_slot;     // of an option with external storage: the slot of its variable
    std::size_t value_offset = 0;         // of an option: offset of its value, or of its cl::location
    bool shared = false;                  // every thread keeps reading LLVM's own storage (values/debugging.hpp)
    bool has_default = false;             // Option::setDefault restores the registered value
    std::uint32_t set_default = 0;        // index of Option::setDefault among the option's virtual functions
    std::size_t initial_at = 0;           // of state: in a context, from this offset on ...
    std::vector<std::uint8_t> initial{};  // ... these bytes replace LLVM's current ones
    std::vector<Pointer> pointers{};      // of state: pointers to options, redirected to this thread's copies
};

}  // namespace optctx::values
