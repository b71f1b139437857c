// The storage that an audit watches: the regions for which contexts have storage of their own, and their pages.
#pragma once

#include "os/os.hpp"
#include "values/space.hpp"

#include <cstdint>
#include <vector>

namespace optctx::audit {

struct WatchedRegion {
    std::uintptr_t begin;
    std::uintptr_t end;
    std::uint32_t slot;
};

struct Page {
    std::uintptr_t begin;
    os::Access usual;  // protection outside audits
};

// Built before an audit. Its lookups are safe in a signal handler.
class Watched {
public:
    explicit Watched(const values::Space& space);

    unsigned image() const noexcept { return image_; }
    const std::vector<WatchedRegion>& regions() const noexcept { return regions_; }
    const std::vector<Page>& pages() const noexcept { return pages_; }
    // Returns the region that holds the address. Null: a neighbour of options, or unrelated storage.
    const WatchedRegion* region_at(std::uintptr_t address) const noexcept;
    const Page* page_at(std::uintptr_t address) const noexcept;

    // Protects every page. If it throws, every page is as before.
    void close() const;
    // Restores the usual protection of every page. Returns false if the system refused for one of them.
    bool open() const noexcept;
    bool close(const Page& page) const noexcept;
    bool open(const Page& page) const noexcept;

private:
    void find_pages();

    unsigned image_;
    std::size_t page_bytes_ = os::page_size();
    std::vector<WatchedRegion> regions_;  // by address
    std::vector<Page> pages_;             // by address
};

}  // namespace optctx::audit
