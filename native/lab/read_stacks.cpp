#include "lab/read_stacks.hpp"

#include "views/poison.hpp"

#include <algorithm>
#include <utility>

namespace optctx::lab {
namespace {

constexpr std::size_t most_addresses = std::size_t{1} << 20;  // 8 MiB, of which only the pages in use take memory
constexpr std::size_t deepest = 2048;                         // frames of one stack

using Started = std::vector<std::shared_ptr<ReadStacks>>;
thread_local Started started;
// Null on a thread that has started none: a signal handler may not be the first to use an object with a destructor.
constinit thread_local const Started* of_this_thread = nullptr;

}  // namespace

ReadStacks::ReadStacks(unsigned image, std::size_t readers, MadeCode made)
    : image_(image),
      made_(std::move(made)),
      known_(readers),
      addresses_(std::make_unique_for_overwrite<std::uintptr_t[]>(most_addresses)) {
    entries_.reserve(readers);
}

void ReadStacks::start(std::shared_ptr<ReadStacks> stacks) {
    started.push_back(std::move(stacks));
    of_this_thread = &started;
    views::first_read = &on_first_read;
}

void ReadStacks::stop() noexcept { started.pop_back(); }

void ReadStacks::on_first_read(unsigned image, std::size_t reader, ucontext_t& context) noexcept {
    if (of_this_thread == nullptr) return;
    for (const auto& each : *of_this_thread)
        if (each->image_ == image) each->keep(reader, context);
}

void ReadStacks::keep(std::size_t reader, ucontext_t& context) noexcept {
    if (known_[reader]) return;
    const std::span<std::uintptr_t> room{addresses_.get() + used_, std::min(deepest, most_addresses - used_)};
    if (room.empty()) {
        complete_ = false;
        return;
    }
    const Unwound found = unwind(context, made_, room);
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
