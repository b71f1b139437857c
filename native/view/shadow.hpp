// Byte copies of regions ("shadows") and what it takes to make them safe to keep and to write to.
#pragma once

#include "view/region.hpp"

#include <memory>
#include <string>

namespace optctx::view {

class Block {
public:
    explicit Block(std::size_t size);
    std::uint8_t* data() const noexcept { return bytes_.get(); }
    void* address() const noexcept { return bytes_.get(); }
    // Of an option whose value LLVM parsed: what it was given, the same for the same occurrences and for no others.
    std::string text;

private:
    std::unique_ptr<std::uint8_t[]> bytes_;
};

// Copies `region.size` bytes. What an option keeps of addresses of its own is moved along: of the inline storage of its
// vectors, of itself in its parser, of the header of an empty std::set.
void copy_object(const Region& region, const void* from, void* to);
// Where the value of a copy of the region is: from `value_offset` on in an option, from the start of any other region.
std::uint8_t* value_of(const Region& region, void* object);
const std::uint8_t* value_of(const Region& region, const void* object);
// Takes a share in whatever the value at `object` owns, so that neither side can free it under the other.
void share_value(const Region& region, void* object);
// The other way round, before other bytes are put at `object`. Characters of strings are never freed: LLVM may have
// kept an address into them.
void release_value(const Region& region, void* object);
// Bytes that hold the value: from `value_offset` on in an option, all of any other region.
std::size_t value_size(const Region& region);
// Makes the value at `object` the empty one of its type without freeing anything: before LLVM assigns.
void clear_value(const Region& region, void* object);
// Forgets that the option ever occurred.
void clear_occurrences(void* option);
// True if both options occurred as often, and last at the same place.
bool same_occurrences(const void* a, const void* b);
// True if the two objects hold the same value, occurrence count and position.
bool same_state(const Region& region, const void* a, const void* b);
// Appends a text that is the same for objects with the same state, and for no others.
void append_state(const Region& region, const void* object, std::string& text);

}  // namespace optctx::view
