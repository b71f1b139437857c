// Byte copies of regions ("shadows"), with what LLVM's parser was given for them, and what makes them safe to keep and
// to write to.
#pragma once

#include "values/region.hpp"
#include "values/strings.hpp"

#include <compare>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace optctx::values {

// One value given to an option. `text` is nullopt for a flag without a value.
struct Occurrence {
    std::string name;
    std::optional<std::string> text;
    auto operator<=>(const Occurrence&) const = default;
};

// All occurrences of an option. The value does not depend on the first ones, which are only counted.
struct Occurrences {
    unsigned before = 0;
    std::vector<Occurrence> values;
    auto operator<=>(const Occurrences&) const = default;
};
// Add one to those of an option of this kind.
void add(Occurrences& occurrences, Kind kind, Occurrence value);
// Return a text that is equal for equal occurrences, and only for those. Empty for none.
std::string text_of(const Occurrences& given);

class Block {
public:
    explicit Block(std::size_t size);
    std::uint8_t* data() const noexcept { return bytes_.get(); }
    void* address() const noexcept { return bytes_.get(); }
    // Of an option whose value LLVM parsed: what it was given. Empty if that is not known.
    Occurrences given;

private:
    std::unique_ptr<std::uint8_t[]> bytes_;
};

// Copy `region.size` bytes. Relocate the addresses of its own storage that an option holds: the inline storage of
// its vectors, and the option in its parser.
void copy_object(const Region& region, const void* from, void* to);
// Return a copy that has a share in whatever the value owns.
std::shared_ptr<Block> clone(const Region& region, const void* from);
// Return the value in a copy of the region: at `value_offset` in an option, at the start of any other region.
std::uint8_t* value_of(const Region& region, void* object);
const std::uint8_t* value_of(const Region& region, const void* object);
// Take a share in whatever the value at `object` owns, so that neither copy can free it while the other uses it.
void share_value(const Region& region, void* object);
// Do the same for a string.
void share_string(String string);
// A newer string of LLVM's in storage that is reused: the characters that are kept for it, which are never freed, since
// LLVM may have kept an address into them. LLVM may free them, or replace them.
struct Characters {
    char* data = nullptr;
    std::size_t capacity = 0;
    bool held = false;  // the string led to them when it was given its value
};
// Give the string in `object` the value of that in `from`, whatever LLVM has done to it.
void give_string(const Region& region, void* object, const void* from, Characters& own);
bool same_string(const Region& region, const void* object, const void* from);
// Copy as `copy_object` does, but leave the string as it is in `to`.
void copy_but_string(const Region& region, const void* from, void* to);
// Give the share back, before other bytes are written to `object`. Never free the characters of strings: LLVM may
// have kept an address into them.
void release_value(const Region& region, void* object);
// Make the value at `object` the empty one of its type without freeing anything, so that LLVM can assign to it.
void clear_value(const Region& region, void* object);
// Reset the option to "never occurred".
void clear_occurrences(void* option);
// Return whether both objects hold the same value, occurrence count and position.
bool same_state(const Region& region, const void* a, const void* b);
// Append a text that is equal for objects with equal state, and only for those.
void append_state(const Region& region, const void* object, std::string& text);

}  // namespace optctx::values
