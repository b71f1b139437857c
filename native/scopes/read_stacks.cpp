#include "scopes/read_stacks.hpp"

#include <algorithm>
#include <utility>

namespace optctx::scopes {
namespace {

constexpr std::size_t most_addresses = std::size_t{1} << 20;  // 8 MiB, of which only the pages in use take memory
constexpr std::size_t deepest = 2048;                         // frames of one stack

}  // namespace

ReadStacks::ReadStacks(std::size_t readers, std::shared_ptr<const arch::MadeCode> made)
    : made_(std::move(made)),
      known_(readers),
      addresses_(std::make_unique_for_overwrite<std::uintptr_t[]>(most_addresses)) {
    entries_.reserve(readers);
}

std::span<std::uintptr_t> ReadStacks::room() const noexcept {
    return {addresses_.get() + used_, std::min(deepest, most_addresses - used_)};
}

void ReadStacks::enter(std::size_t reader, std::size_t count, bool whole) noexcept {
    known_[reader] = true;
    entries_.push_back({static_cast<std::uint32_t>(reader), static_cast<std::uint32_t>(count), used_, whole});
    used_ += count;
}

void ReadStacks::keep(std::size_t reader, ucontext_t& context, const arch::Interrupted& at) noexcept {
    if (known_[reader]) return;
    const std::span<std::uintptr_t> free = room();
    if (free.empty()) {
        complete_ = false;
        return;
    }
    const arch::Unwound found = arch::unwind(context, at, *made_, free);
    enter(reader, found.count, found.whole);
}

void ReadStacks::add(const ReadStacks& other) noexcept {
    complete_ = complete_ && other.complete_;
    for (const Entry& each : other.entries_) {
        if (known_[each.reader]) continue;
        const std::span<std::uintptr_t> free = room();
        if (free.size() < each.count) {
            complete_ = false;
            continue;
        }
        std::copy_n(other.addresses_.get() + each.begin, each.count, free.begin());
        enter(each.reader, each.count, each.whole);
    }
}

std::vector<ReadStacks::Stack> ReadStacks::stacks() const {
    std::vector<Stack> found;
    found.reserve(entries_.size());
    for (const Entry& each : entries_)
        found.push_back({each.reader, {addresses_.get() + each.begin, each.count}, each.whole});
    return found;
}

}  // namespace optctx::scopes
