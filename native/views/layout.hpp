// The words of a view, in this order: the storage of each region, the word that each reader loads, the addresses that
// readers take, and finally the view's owner and reads.
#pragma once

#include "arch/sites.hpp"
#include "os/os.hpp"
#include "views/reads.hpp"
#include "views/view.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace optctx::contexts {
class Context;
}

namespace optctx::views {

using arch::Reader;

class Layout {
public:
    // `reach`: maximum number of bytes from the start of a region, or from a taken address, to the end of what a reader
    // reads there.
    Layout(std::size_t regions, std::vector<Reader> readers, std::size_t reach);

    const std::vector<Reader>& readers() const noexcept { return readers_; }
    std::size_t regions() const noexcept { return regions_; }
    // The number of words in a view.
    std::size_t size() const noexcept { return regions_ + readers_.size() + addresses_ + 2; }
    void*& word_of(View view, std::size_t reader) const noexcept { return view[regions_ + reader]; }
    // Returns the value that leads the reader's word to the storage.
    void* target(View view, std::size_t reader) const noexcept;
    // Sets the readers' words from the regions' words.
    void spread(View view) const noexcept;
    // Unreadable memory. A reader whose word holds this address faults.
    void* nowhere() const noexcept { return nowhere_.data(); }
    bool is_nowhere(std::uintptr_t address) const noexcept { return address - nowhere_.address() < nowhere_.size(); }
    // Poisons the words of readers that read, except those that every given Reads already knows.
    void poison(View view, const Reads* one, const Reads* other) const noexcept;
    // `owner` is null in views of process-wide values; `reads` is null in views whose reads are not watched.
    contexts::Context*& owner(View view) const noexcept {
        return reinterpret_cast<contexts::Context*&>(view[size() - 2]);
    }
    Reads*& reads(View view) const noexcept { return reinterpret_cast<Reads*&>(view[size() - 1]); }

private:
    std::size_t regions_;
    std::vector<Reader> readers_;
    std::vector<std::uint32_t> address_of_;  // reader -> index of its address among the taken addresses
    std::size_t addresses_ = 0;
    os::Mapping nowhere_;
};

}  // namespace optctx::views
