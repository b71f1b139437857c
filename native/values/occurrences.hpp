// What an option was given, as LLVM's parser takes it.
#pragma once

#include "values/region.hpp"

#include <compare>
#include <optional>
#include <string>
#include <vector>

namespace optctx::values {

// One value given to an option. `text` is nullopt for a flag without a value.
struct Occurrence {
    std::string name;
    std::optional<std::string> text;
    auto operator<=>(const Occurrence&) const = default;
};

// All occurrences of an option. The value does not depend on the first ones, which are only counted.
struct Occurrences {
    unsigned before = 0;
    std::vector<Occurrence> values;
    auto operator<=>(const Occurrences&) const = default;
};
// Add one to those of an option of this kind.
void add(Occurrences& occurrences, Kind kind, Occurrence value);
// Return a text that is equal for equal occurrences, and only for those. Empty for none.
std::string text_of(const Occurrences& given);

}  // namespace optctx::values
