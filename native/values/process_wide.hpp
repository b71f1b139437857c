// Changes options that cannot be scoped in LLVM's own objects, and restores them exactly.
#pragma once

#include "values/epochs.hpp"
#include "values/space.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace optctx::values {

struct Change {
    std::uintptr_t option;  // address of LLVM's own cl::Option
    std::string name;       // name under which the option is given
    std::vector<std::optional<std::string>> texts;
    Kind kind;
    std::size_t value_offset;
    std::uintptr_t variable;    // target of cl::location, or 0
    std::size_t variable_size;  // bytes
    std::uintptr_t state;       // object that the option's callback changes, or 0
    std::size_t state_size;
};

// Names changes: those with this text, in this image. The same text means other changes in another image.
struct ChangeKey {
    unsigned image;
    std::string text;
    friend bool operator==(const ChangeKey&, const ChangeKey&) = default;
};

// A piece of LLVM's storage, as it was before the changes.
struct Covered {
    std::uintptr_t address;
    std::vector<std::uint8_t> bytes;
};

// (address, size in bytes) of storage.
using Piece = std::pair<std::uintptr_t, std::size_t>;

// A set of changes to one image, in force or not. `text` is equal for equal changes of that image, and only for those,
// also in other processes. `key` is equal for equal changes in this process, and only for those. Owned by a C++
// shared_ptr, as Context is.
class ProcessWide : public std::enable_shared_from_this<ProcessWide> {
public:
    ProcessWide(Space& space, std::vector<Change> changes, std::string text);
    unsigned image() const noexcept { return key_.image; }
    const std::string& text() const noexcept { return key_.text; }
    const ChangeKey& key() const noexcept { return key_; }
    const std::vector<Change>& changes() const noexcept { return changes_; }
    // Return whether it changes the option at this address, and restores it.
    bool changes(std::uintptr_t option) const noexcept;
    // Have LLVM parse every value into its own objects. Throws ParseError after restoring everything. Call with the
    // gate closed: no other thread may be reading the objects.
    void apply();

private:
    friend std::string read_outside(std::span<const Piece> pieces);
    friend void undo_process_wide(unsigned image) noexcept;
    void undo() noexcept;
    // Overwrite what the changes in force have changed in copies of the pieces, one after the other.
    void read_before(std::span<const Piece> pieces, char* to) const;

    Space& space_;
    std::vector<Change> changes_;
    ChangeKey key_;
    std::vector<std::vector<Covered>> saved_;  // of each change: the option's head and value, its variable, the state
};

// Undo the changes in force in an image, if any. Call with the gate closed, like `apply`.
void undo_process_wide(unsigned image) noexcept;
// Copy pieces of LLVM's storage, one after the other, without the changes in force in any image.
std::string read_outside(std::span<const Piece> pieces);

}  // namespace optctx::values
