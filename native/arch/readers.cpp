#include "arch/readers.hpp"

#include <map>
#include <tuple>

namespace optctx::arch {

Readers group_readers(std::span<const PackedSite> sites,
                      const std::unordered_map<std::uint64_t, std::uint32_t>& slots) {
    Readers found;
    found.of_site.reserve(sites.size());
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::int32_t, std::uint32_t>, std::uint32_t> known;
    for (const PackedSite& site : sites) {
        const auto slot = slots.find(site.region);
        if (slot == slots.end()) {
            found.of_site.push_back(no_reader);
            continue;
        }
        const bool takes_address = (site.uses & takes_address_bit) != 0;
        const PackedReader reader{slot->second, site.function, takes_address ? site.offset : 0,
                                  static_cast<std::uint32_t>(site.uses & (takes_address_bit | reads_bit))};
        const auto next = static_cast<std::uint32_t>(found.readers.size());
        const auto [at, is_new] = known.try_emplace({reader.slot, reader.function, reader.offset, reader.uses}, next);
        if (is_new) found.readers.push_back(reader);
        found.of_site.push_back(at->second);
    }
    return found;
}

}  // namespace optctx::arch
