// The words of a view, in this order: the storage of each region; what each reader loads; addresses that readers take;
// and last, what the view belongs to.
#pragma once

#include "os/os.hpp"
#include "view/reads.hpp"
#include "view/slots.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace optctx::view {

// The instructions of one function that refer to one region in one way. They have a word of their own, so that a thread
// can be told of the first of them that runs (view/poison.hpp) and nobody else pays for that.
struct Reader {
    std::uint32_t slot;
    std::size_t offset;  // of the address that is taken, in bytes from the start of the region
    bool takes_address;  // loads an address, from where its word points, and uses it later
    bool reads;          // otherwise it only writes
};

class Context;

class Layout {
public:
    // `reach`: bytes from the start of a region, or of an address of one, to the end of what readers read there.
    Layout(std::size_t regions, std::vector<Reader> readers, std::size_t reach);

    const std::vector<Reader>& readers() const noexcept { return readers_; }
    std::size_t regions() const noexcept { return regions_; }
    // Words of a view.
    std::size_t size() const noexcept { return regions_ + readers_.size() + addresses_ + 2; }
    void*& word_of(View view, std::size_t reader) const noexcept { return view[regions_ + reader]; }
    // What that word leads to the storage by.
    void* target(View view, std::size_t reader) const noexcept;
    // Fills the words of the readers according to those of the regions.
    void spread(View view) const noexcept;
    // Where nothing can be read: a word that holds this makes its reader fault.
    void* nowhere() const noexcept { return nowhere_.data(); }
    bool is_nowhere(std::uintptr_t address) const noexcept { return address - nowhere_.address() < nowhere_.size(); }
    // Sends readers that read there, unless all the marks that are given know them.
    void poison(View view, const Reads* one, const Reads* other) const noexcept;
    // Null in views that show what is process-wide, and in views whose reads nobody wants to know.
    Context*& owner(View view) const noexcept { return reinterpret_cast<Context*&>(view[size() - 2]); }
    Reads*& reads(View view) const noexcept { return reinterpret_cast<Reads*&>(view[size() - 1]); }

private:
    std::size_t regions_;
    std::vector<Reader> readers_;
    std::vector<std::uint32_t> address_of_;  // reader -> index of its address, among those that are taken
    std::size_t addresses_ = 0;
    os::Mapping nowhere_;
};

}  // namespace optctx::view
