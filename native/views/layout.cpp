#include "views/layout.hpp"

#include <stdexcept>
#include <utility>

namespace optctx::views {

Layout::Layout(std::size_t regions, std::vector<Reader> readers, std::size_t reach)
    : regions_(regions), readers_(std::move(readers)), nowhere_(os::map_nothing(reach)) {
    for (const Reader& reader : readers_) {
        if (reader.slot >= regions_) throw std::runtime_error("a reader of no region");
        address_of_.push_back(static_cast<std::uint32_t>(addresses_));
        if (reader.takes_address) ++addresses_;
    }
    if (regions_ > max_slots || size() > max_words) throw std::runtime_error("more readers than a view has words");
}

void Layout::poison(View view, const Reads* one, const Reads* other) const noexcept {
    for (std::size_t index = 0; index < readers_.size(); ++index) {
        const bool known = (one == nullptr || one->knows(index)) && (other == nullptr || other->knows(index));
        if (readers_[index].reads && !known) word_of(view, index) = nowhere();
    }
}

void* Layout::target(View view, std::size_t reader) const noexcept {
    if (!readers_[reader].takes_address) return view[readers_[reader].slot];
    return &view[regions_ + readers_.size() + address_of_[reader]];
}

void Layout::spread(View view) const noexcept {
    void** address = view + regions_ + readers_.size();
    for (std::size_t index = 0; index < readers_.size(); ++index) {
        const Reader& reader = readers_[index];
        void* storage = view[reader.slot];
        if (reader.takes_address) {
            *address = static_cast<std::uint8_t*>(storage) + reader.offset;
            storage = address++;
        }
        word_of(view, index) = storage;
    }
}

}  // namespace optctx::views
