// The strings of LLVM's that have characters of their own: libstdc++'s newer std::string, and libc++'s.
#pragma once

#include "image/layouts.hpp"
#include "values/region.hpp"

#include <cstddef>
#include <cstring>
#include <string_view>

namespace optctx::values {

// Whether the value is such a string, and whether it is a list of them.
constexpr bool is_own_string(Ownership value) noexcept {
    return value == Ownership::long_string || value == Ownership::libcxx_string;
}
constexpr bool lists_own_strings(Ownership value) noexcept {
    return value == Ownership::list_of_long_strings || value == Ownership::list_of_libcxx_strings;
}

// Refers to a string in LLVM's storage or in a copy of it. All zero bytes are no string of libstdc++'s, whose data() is
// null then, and an empty one of libc++'s.
class OwnString {
public:
    OwnString(bool libcxx, void* at) noexcept : libcxx_(libcxx), at_(at) {}
    OwnString(Ownership ownership, void* at) noexcept : OwnString(is_libcxx(ownership), at) {}
    OwnString(Ownership ownership, const void* at) noexcept : OwnString(ownership, const_cast<void*>(at)) {}

    static constexpr std::size_t bytes(Ownership ownership) noexcept {
        return is_libcxx(ownership) ? sizeof(image::RawLibcxxString) : sizeof(image::RawString);
    }

    // The characters are in the string itself.
    bool is_local() const noexcept { return libcxx_ ? !theirs().is_long() : ours().is_local(); }
    char* data() const noexcept {
        if (!libcxx_) return ours().data;
        return is_local() ? theirs().brief.characters : theirs().extended.data;
    }
    std::size_t size() const noexcept {
        if (!libcxx_) return ours().size;
        return is_local() ? theirs().brief.twice_size / 2 : theirs().extended.size;
    }
    // Of one whose characters are elsewhere: without the final NUL. An odd number in libc++.
    std::size_t capacity() const noexcept {
        return libcxx_ ? (theirs().extended.room_and_bit & ~std::size_t{1}) - 1 : ours().capacity;
    }
    std::string_view text() const noexcept { return {data(), size()}; }
    bool operator==(const OwnString& other) const noexcept { return text() == other.text(); }

    // After the bytes of `from` were copied here: lead to this string's own characters if they are in it.
    void relocate(const OwnString& from) noexcept {
        if (!libcxx_ && ours().data == from.ours().local) ours().data = ours().local;
    }
    // Lead to characters elsewhere, of the same text, with room for so many and a NUL.
    void lead_to(char* characters, std::size_t capacity) noexcept {
        if (libcxx_) {
            theirs().extended.data = characters;
            theirs().extended.room_and_bit = (capacity + 1) | 1;
        } else {
            ours().data = characters;
            ours().capacity = capacity;
        }
    }
    void make_empty() noexcept {
        std::memset(at_, 0, libcxx_ ? sizeof(image::RawLibcxxString) : sizeof(image::RawString));
        if (!libcxx_) ours().data = ours().local;
    }

private:
    static constexpr bool is_libcxx(Ownership ownership) noexcept {
        return ownership == Ownership::libcxx_string || ownership == Ownership::list_of_libcxx_strings;
    }
    image::RawString& ours() const noexcept { return *static_cast<image::RawString*>(at_); }
    image::RawLibcxxString& theirs() const noexcept { return *static_cast<image::RawLibcxxString*>(at_); }

    bool libcxx_;
    void* at_;
};

}  // namespace optctx::values
