// Replaces code of a running library in one step, as observed by every thread.
#pragma once

#include "os/os.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace optctx::os {

// Builds a second mapping of the pages that hold [begin, end), which no thread executes: the same part of the same
// file, with the current contents of memory and the edits. `install` moves it over the first mapping with a single
// mremap(2).
//
// The kernel holds the lock of the address space from before it removes the old pages until the new ones are in place.
// A thread that accesses the gap waits in its page fault, and no thread sees one new page without the others. Then the
// kernel makes each processor serialise (membarrier(2)): none continues with instructions that it fetched before. This
// needs no signals and no cooperation of other threads, and no page is ever writable and executable at once.
//
// What another thread writes to these pages during `install` is lost.
class Replacement {
public:
    // Throws OsError, and std::runtime_error if the pages are not code or are mapped from several places.
    Replacement(std::uintptr_t begin, std::uintptr_t end);
    // Puts `bytes` at `address`. The caller keeps `bytes` alive. Calls must be in ascending order, without overlaps,
    // within [begin, end).
    void write(std::uintptr_t address, std::span<const std::uint8_t> bytes) { edits_.push_back({address, bytes}); }
    // Throws OsError with nothing changed.
    void install();

private:
    struct Edit {
        std::uintptr_t address;
        std::span<const std::uint8_t> bytes;
        std::uintptr_t end() const noexcept { return address + bytes.size(); }
    };
    void fill();
    bool is_in_file(std::uintptr_t page);
    // Writes the edits of a page that change it into its copy.
    static void edit_page(std::uintptr_t page, const Edit* first, const Edit* last, std::uint8_t* copy);
    void fill_page(std::uintptr_t page, const Edit* first, const Edit* last);

    std::uintptr_t begin_;
    std::uintptr_t end_;
    MappedRange source_;  // what is mapped there
    Descriptor file_;
    bool has_file_ = false;
    bool same_file_ = false;  // it is the mapped file itself
    Mapping mapping_;
    std::vector<Edit> edits_;
    std::vector<std::uint8_t> page_;     // intended contents of a page
    std::vector<std::uint8_t> in_file_;  // contents of that page in the file
};

}  // namespace optctx::os
