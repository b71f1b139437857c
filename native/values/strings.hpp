// LLVM's strings: std::string of each standard library.
#pragma once

#include "image/layouts.hpp"
#include "values/region.hpp"

#include <cstddef>
#include <cstring>
#include <string_view>

namespace optctx::values {

// Whether the value is a string with characters of its own: none that is shared until it is written to.
inline bool is_own_string(const Region& region) noexcept {
    return region.ownership == Ownership::string && region.abi != Abi::copy_on_write;
}

// Refers to a string in LLVM's storage or in a copy of it. All zero bytes are an empty one of libc++'s. They are none
// of libstdc++'s, whose data() is null then.
class String {
public:
    String(Abi abi, const void* at) noexcept : abi_(abi), at_(const_cast<void*>(at)) {}

    static constexpr std::size_t bytes(Abi abi) noexcept {
        if (abi == Abi::copy_on_write) return sizeof(char*);
        return abi == Abi::libcxx ? sizeof(image::RawLibcxxString) : sizeof(image::RawString);
    }

    // What copy-on-write strings with the same characters share; null for others.
    image::RawCowHeader* header() const noexcept {
        return abi_ == Abi::copy_on_write ? reinterpret_cast<image::RawCowHeader*>(data()) - 1 : nullptr;
    }
    // The characters are in the string itself.
    bool is_local() const noexcept {
        if (abi_ == Abi::copy_on_write) return false;
        return abi_ == Abi::libcxx ? !theirs().is_long() : ours().is_local();
    }
    char* data() const noexcept {
        if (abi_ != Abi::libcxx) return ours().data;
        return is_local() ? theirs().brief.characters : theirs().extended.data;
    }
    std::size_t size() const noexcept {
        if (abi_ == Abi::copy_on_write) return header()->length;
        if (abi_ == Abi::libstdcxx) return ours().size;
        return is_local() ? theirs().brief.twice_size / 2 : theirs().extended.size;
    }
    std::string_view text() const noexcept { return {data(), size()}; }
    bool operator==(const String& other) const noexcept { return text() == other.text(); }

    // The rest is for strings with characters of their own.

    // Of one whose characters are elsewhere: without the final NUL. An odd number in libc++.
    std::size_t capacity() const noexcept {
        return abi_ == Abi::libcxx ? (theirs().extended.room_and_bit & ~std::size_t{1}) - 1 : ours().capacity;
    }
    // After the bytes of `from` were copied here: lead to this string's own characters if they are in it.
    void relocate(const String& from) noexcept {
        if (abi_ == Abi::libstdcxx && ours().data == from.ours().local) ours().data = ours().local;
    }
    // Lead to characters elsewhere, of the same text, with room for so many and a NUL.
    void lead_to(char* characters, std::size_t capacity) noexcept {
        if (abi_ == Abi::libcxx) {
            theirs().extended.data = characters;
            theirs().extended.room_and_bit = (capacity + 1) | 1;
        } else {
            ours().data = characters;
            ours().capacity = capacity;
        }
    }
    void make_empty() noexcept {
        std::memset(at_, 0, bytes(abi_));
        if (abi_ == Abi::libstdcxx) ours().data = ours().local;
    }

private:
    image::RawString& ours() const noexcept { return *static_cast<image::RawString*>(at_); }
    image::RawLibcxxString& theirs() const noexcept { return *static_cast<image::RawLibcxxString*>(at_); }

    Abi abi_;
    void* at_;
};

}  // namespace optctx::values
