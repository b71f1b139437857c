// The layout of cl::Option and related classes in LLVM 20 to 22 (Itanium C++ ABI; llvm/Support/CommandLine.h).
// No other file knows these offsets. The registry walk checks them against the name of every option. What differs
// between builds is measured while attaching (`value_offset`), never derived from a version number.
#pragma once

#include <cstddef>
#include <cstdint>

namespace optctx::image {

struct RawStringRef {
    const char* data;
    std::size_t size;
};

// cl::Option up to the first member whose offset depends on ABI-breaking checks (SmallPtrSet's epoch).
struct RawOption {
    const void* const* vtable;
    std::uint16_t occurrences;
    std::uint16_t bits;
    std::uint32_t position;
    RawStringRef arg;
    RawStringRef help;
    RawStringRef value_name;
    // SmallVector<OptionCategory *, 1>
    const RawStringRef* const* categories;
    std::uint32_t category_count;
    std::uint32_t category_capacity;

    // What LLVM's command line makes of `-name` and `-name=value`. `index`: of getValueExpectedFlagDefault in LLVM's
    // virtual functions, or 0.
    bool needs_value(unsigned index) const { return value_expected(index) == 2; }
    bool takes_no_value(unsigned index) const { return value_expected(index) == 3; }
    bool splits_at_commas() const { return (bits >> 9 & 1) != 0; }
    bool is_default_option() const { return (bits >> 9 & 16) != 0; }
    unsigned hidden() const { return (bits >> 5) & 3u; }

private:
    unsigned value_expected(unsigned index) const {  // cl::ValueExpected
        const unsigned own = (bits >> 3) & 3u;
        using Expected = unsigned (*)(const RawOption*);
        return own != 0 || index == 0 ? own : reinterpret_cast<Expected>(const_cast<void*>(vtable[index]))(this);
    }
};
static_assert(offsetof(RawOption, occurrences) == 0x08);
static_assert(offsetof(RawOption, position) == 0x0C);
static_assert(offsetof(RawOption, arg) == 0x10);
static_assert(offsetof(RawOption, help) == 0x20);
static_assert(offsetof(RawOption, value_name) == 0x30);
static_assert(offsetof(RawOption, categories) == 0x40);
static_assert(sizeof(RawOption) == 0x50);

// The head of an llvm::SmallVector; inline elements follow.
struct RawVector {
    const void* elements;
    std::uint32_t count;
    std::uint32_t capacity;
};
static_assert(sizeof(RawVector) == 0x10);

// cl::list with internal storage, starting at the value offset.
struct RawList {
    std::uintptr_t values[3];    // std::vector<T>: begin, end, end of storage
    std::uintptr_t defaults[3];  // std::vector<OptionValue<T>>
    bool default_assigned;
    std::uintptr_t positions[3];  // std::vector<unsigned>
};
static_assert(offsetof(RawList, positions) == 0x38);

// cl::bits with internal storage, starting at the value offset.
struct RawBits {
    std::uint32_t bits;
    std::uintptr_t positions[3];
};
static_assert(offsetof(RawBits, positions) == 0x08);

// The copy-on-write std::string (mangled "Ss"): one pointer to the characters, this header before them.
struct RawCowHeader {
    std::size_t length;
    std::size_t capacity;
    std::int32_t references;  // owners beyond the first
};
static_assert(sizeof(RawCowHeader) == 24);

// libstdc++'s newer std::string (mangled "NSt7__cxx1112basic_string..."). A short one is in `local`, to which `data`
// points; another one has its capacity there.
struct RawString {
    char* data;
    std::size_t size;
    union {
        char local[16];
        std::size_t capacity;
    };

    bool is_local() const noexcept { return data == local; }
};
static_assert(offsetof(RawString, local) == 0x10);
static_assert(sizeof(RawString) == 0x20);

// libc++'s std::string of its first ABI (mangled "NSt3__112basic_string..."). The lowest bit tells a long one.
struct RawLibcxxString {
    struct Short {
        std::uint8_t twice_size;
        char characters[23];  // what follows the NUL has no meaning
    };
    struct Long {
        std::size_t room_and_bit;  // bytes of the characters, an even number, and the bit
        std::size_t size;
        char* data;
    };
    union {
        Short brief;
        Long extended;
    };

    bool is_long() const noexcept { return (brief.twice_size & 1) != 0; }
};
static_assert(sizeof(RawLibcxxString) == 0x18);

// libc++'s std::function, an option's last member: a small callable is in it, and `callable` points there.
struct RawLibcxxFunction {
    std::uintptr_t buffer[4];
    const void* callable;
    std::uintptr_t padding;
};
static_assert(offsetof(RawLibcxxFunction, callable) == 0x20);
static_assert(sizeof(RawLibcxxFunction) == 0x30);

// cl::OptionValue<T>: a vtable, then the value.
constexpr std::size_t option_value_head = 8;

// llvm::ManagedStatic<T>.
struct RawManagedStatic {
    const void* object;  // null until the first use
    const void* deleter;
    const void* next;
};
static_assert(sizeof(RawManagedStatic) == 24);

// llvm::CurrentDebugType is a ManagedStatic of a std::vector of types of debug output: std::pair<std::string,
// std::optional<int>>, of which this is the level. Up to LLVM 21 a type is the string alone.
struct RawDebugLevel {
    std::int32_t level;
    bool is_given;
};
static_assert(offsetof(RawDebugLevel, is_given) == 0x04);
static_assert(sizeof(RawDebugLevel) == 0x08);

// The first members of llvm::raw_ostream.
struct RawOstream {
    const void* const* vtable;
    std::uint32_t kind;
    char* begin;
    char* end;
    char* cursor;
};
static_assert(offsetof(RawOstream, begin) == 0x10);

}  // namespace optctx::image
