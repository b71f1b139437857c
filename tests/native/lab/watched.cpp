#include "lab/watched.hpp"

#include <algorithm>
#include <stdexcept>

namespace optctx::audit {
namespace {

// Returns the last item of a sorted range that begins at or before the address, or null.
template <class T>
const T* last_before(const std::vector<T>& sorted, std::uintptr_t address) noexcept {
    const auto next = std::upper_bound(sorted.begin(), sorted.end(), address,
                                       [](std::uintptr_t a, const T& item) { return a < item.begin; });
    return next == sorted.begin() ? nullptr : &*std::prev(next);
}

}  // namespace

Watched::Watched(const values::Space& space) : image_(space.image()) {
    const auto& regions = space.regions();
    for (std::uint32_t slot = 0; slot < regions.size(); ++slot)
        if (regions[slot].scoped && !regions[slot].shared)
            regions_.push_back({regions[slot].live, regions[slot].live + regions[slot].size, slot});
    std::sort(regions_.begin(), regions_.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
    find_pages();
}

void Watched::find_pages() {
    const auto space = os::address_space();
    for (const WatchedRegion& region : regions_) {
        for (std::uintptr_t page = region.begin / page_bytes_ * page_bytes_; page < region.end; page += page_bytes_) {
            if (!pages_.empty() && pages_.back().begin >= page) continue;
            const auto range = std::upper_bound(space.begin(), space.end(), page,
                                                [](std::uintptr_t a, const os::MappedRange& r) { return a < r.end; });
            if (range == space.end() || range->begin > page || !range->readable || range->executable)
                throw std::runtime_error("a page of LLVM's options is not plain readable data");
            pages_.push_back({page, os::access_of(*range)});
        }
    }
}

const WatchedRegion* Watched::region_at(std::uintptr_t address) const noexcept {
    const WatchedRegion* region = last_before(regions_, address);
    return region != nullptr && address < region->end ? region : nullptr;
}

const Page* Watched::page_at(std::uintptr_t address) const noexcept {
    const Page* page = last_before(pages_, address);
    return page != nullptr && address - page->begin < page_bytes_ ? page : nullptr;
}

void Watched::close() const {
    for (const Page& page : pages_) {
        const int failed = os::try_protect(page.begin, page.begin + page_bytes_, os::Access::none);
        if (failed == 0) continue;
        open();
        throw os::OsError("mprotect", page.begin, failed);
    }
}

bool Watched::open() const noexcept {
    bool all = true;
    for (const Page& page : pages_) all = open(page) && all;
    return all;
}

bool Watched::close(const Page& page) const noexcept {
    return os::try_protect(page.begin, page.begin + page_bytes_, os::Access::none) == 0;
}

bool Watched::open(const Page& page) const noexcept {
    return os::try_protect(page.begin, page.begin + page_bytes_, page.usual) == 0;
}

}  // namespace optctx::audit
