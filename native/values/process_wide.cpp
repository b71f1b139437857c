#include "values/process_wide.hpp"

#include "image/layouts.hpp"
#include "os/fork_locks.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

namespace optctx::values {
namespace {

using image::RawBits;
using image::RawOption;

// Held while changes are made or undone in any image, so that the child of a fork has all changes of a set or none.
// Both objects outlive every thread.
auto& changing = *new os::ForkSafeMutex(os::Rank::changes);
auto& in_force = *new views::PerImage<std::shared_ptr<ProcessWide>>;  // guarded by `changing`

// Return the region that region_copy.hpp works on. The size of a heap-allocated option is unknown and not needed.
Region shape(const Change& change) {
    Region region{.live = change.option, .size = 0, .role = Role::option};
    region.kind = change.kind;
    region.value_offset = change.value_offset;
    if (change.variable == 0 && change.kind == Kind::string) region.ownership = Ownership::string;
    return region;
}

// Return the size of everything that parsing may change there; of a heap-allocated option whose value is small, a word.
std::size_t saved_size(const Change& change) {
    if (change.kind == Kind::bits) return sizeof(RawBits);
    return std::max(value_size(shape(change)), sizeof(std::uint64_t));
}

std::vector<Covered> save(const Change& change) {
    std::vector<Covered> saved;
    const auto add = [&saved](std::uintptr_t address, std::size_t size) {
        const auto* bytes = reinterpret_cast<const std::uint8_t*>(address);
        if (size != 0) saved.push_back({address, {bytes, bytes + size}});
    };
    // Not the flags between the two, which other threads may be reading.
    add(change.option + offsetof(RawOption, occurrences), sizeof RawOption::occurrences);
    add(change.option + offsetof(RawOption, position), sizeof RawOption::position);
    add(change.option + change.value_offset, saved_size(change));
    add(change.variable, change.variable_size);
    add(change.state, change.state_size);
    return saved;
}

Region variable_shape(const Change& change) {
    Region region{.live = change.variable, .size = change.variable_size, .role = Role::variable};
    region.kind = change.kind;
    region.ownership = Ownership::string;
    return region;
}

}  // namespace

ProcessWide::ProcessWide(Space& space, std::vector<Change> changes, std::string text)
    : space_(space), changes_(std::move(changes)), key_{space.image(), std::move(text)} {}

bool ProcessWide::changes(std::uintptr_t option) const noexcept {
    return std::any_of(changes_.begin(), changes_.end(),
                       [option](const Change& each) { return each.option == option; });
}

void ProcessWide::apply() {
    const std::lock_guard lock(changing);
    ++process_wide_epochs[image()];
    saved_.clear();
    for (const Change& change : changes_) {
        auto* option = reinterpret_cast<void*>(change.option);
        auto* variable = reinterpret_cast<void*>(change.variable);
        saved_.push_back(save(change));
        clear_occurrences(option);
        // The saved bytes keep what the old value owns; LLVM starts from an empty value.
        if (change.variable == 0) clear_value(shape(change), option);
        if (change.variable != 0 && change.kind == Kind::string) share_value(variable_shape(change), variable);
        try {
            space_.add_occurrences(option, occurrences(change.name, change.texts));
        } catch (...) {
            undo();
            throw;
        }
    }
    in_force[image()] = shared_from_this();
}

void ProcessWide::undo() noexcept {
    for (auto saved = saved_.rbegin(); saved != saved_.rend(); ++saved)
        for (const Covered& piece : *saved)
            std::memcpy(reinterpret_cast<void*>(piece.address), piece.bytes.data(), piece.bytes.size());
    saved_.clear();
    ++process_wide_epochs[image()];
}

void undo_process_wide(unsigned image) noexcept {
    const std::lock_guard lock(changing);
    if (const std::shared_ptr<ProcessWide> changes = std::exchange(in_force[image], nullptr)) changes->undo();
}

// The first of two saved pieces that cover the same storage has the contents before all changes, so it is copied last.
void ProcessWide::read_before(std::span<const Piece> pieces, char* to) const {
    for (const auto& [address, size] : pieces) {
        for (auto saved = saved_.rbegin(); saved != saved_.rend(); ++saved)
            for (const Covered& each : *saved) {
                const std::uintptr_t begin = std::max(address, each.address);
                const std::uintptr_t end = std::min(address + size, each.address + each.bytes.size());
                if (begin < end) std::memcpy(to + (begin - address), &each.bytes[begin - each.address], end - begin);
            }
        to += size;
    }
}

std::string read_outside(std::span<const Piece> pieces) {
    const views::LiveView reading;
    const std::lock_guard lock(changing);
    std::string bytes;
    for (const auto& [address, size] : pieces) bytes.append(reinterpret_cast<const char*>(address), size);
    for (const std::shared_ptr<ProcessWide>& changes : in_force)
        if (changes != nullptr) changes->read_before(pieces, bytes.data());
    return bytes;
}

}  // namespace optctx::values
