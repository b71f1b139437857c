#include "lab/read_stacks.hpp"

#include "views/poison.hpp"

#include <algorithm>
#include <utility>

namespace optctx::lab {
namespace {

constexpr std::size_t most_addresses = std::size_t{1} << 20;  // 8 MiB, of which only the pages in use take memory
constexpr std::size_t deepest = 2048;                         // frames of one stack

thread_local std::vector<std::shared_ptr<ReadStacks>> started;

}  // namespace

ReadStacks::ReadStacks(unsigned image, std::size_t readers, arch::MadeCode made)
    : image_(image),
      made_(std::move(made)),
      known_(readers),
      addresses_(std::make_unique_for_overwrite<std::uintptr_t[]>(most_addresses)) {
    entries_.reserve(readers);
}

void ReadStacks::start(std::shared_ptr<ReadStacks> stacks) {
    started.push_back(std::move(stacks));
    views::first_read = &on_first_read;
}

void ReadStacks::stop() noexcept { started.pop_back(); }

void ReadStacks::on_first_read(unsigned image, std::size_t reader, ucontext_t& context) noexcept {
    for (const auto& each : started)
        if (each->image_ == image) each->keep(reader, context);
}

void ReadStacks::keep(std::size_t reader, ucontext_t& context) noexcept {
    if (known_[reader]) return;
    const std::span<std::uintptr_t> room{addresses_.get() + used_, std::min(deepest, most_addresses - used_)};
    if (room.empty()) {
        complete_ = false;
        return;
    }
    const arch::Unwound found = arch::unwind(context, made_, room);
    known_[reader] = true;
    entries_.push_back(
        {static_cast<std::uint32_t>(reader), static_cast<std::uint32_t>(found.count), used_, found.whole});
    used_ += found.count;
}

std::vector<ReadStacks::Stack> ReadStacks::stacks() const {
    std::vector<Stack> found;
    found.reserve(entries_.size());
    for (const Entry& each : entries_)
        found.push_back({each.reader, {addresses_.get() + each.begin, each.count}, each.whole});
    return found;
}

}  // namespace optctx::lab
