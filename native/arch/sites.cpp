#include "arch/sites.hpp"

#include "image/memory.hpp"

#include <map>

namespace optctx::arch {

Readers group_readers(std::span<const Site> sites, const Slots& slots, const std::unordered_set<std::uint64_t>& alike,
                      std::uint32_t first) {
    Readers found{{}, first, {}};
    found.words.reserve(sites.size());
    std::map<Reader, std::uint32_t> known;
    for (const Site& site : sites) {
        const auto slot = slots.find(site.region);
        if (slot == slots.end()) throw image::Misfit("expected a slot for the region of each site");
        if (alike.contains(site.region)) {
            found.words.push_back(slot->second);
            continue;
        }
        if (site.offset < 0) throw image::Misfit("expected an address in a region, found one before it");
        const bool takes_address = (site.uses & takes_address_bit) != 0;
        const Reader reader{slot->second, site.function, takes_address ? static_cast<std::uint32_t>(site.offset) : 0,
                            takes_address, (site.uses & reads_bit) != 0};
        const auto [at, is_new] = known.try_emplace(reader, first + static_cast<std::uint32_t>(found.all.size()));
        if (is_new) found.all.push_back(reader);
        found.words.push_back(at->second);
    }
    return found;
}

std::unordered_map<std::uint64_t, Uses> group_uses(std::span<const Site> sites) {
    std::unordered_map<std::uint64_t, Uses> found;
    for (const Site& site : sites) {
        Uses& uses = found[site.region];
        const bool writes = (site.uses & writes_bit) != 0;
        uses.writes |= writes;
        uses.writes_head |= writes && site.offset == 0;
        uses.takes_address |= (site.uses & takes_address_bit) != 0;
        // The sites of a function follow one another, but for its parts that are elsewhere.
        if (uses.functions.empty() || uses.functions.back() != site.function) uses.functions.push_back(site.function);
    }
    return found;
}

}  // namespace optctx::arch
