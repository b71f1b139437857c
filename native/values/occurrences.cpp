#include "values/occurrences.hpp"

#include <utility>

namespace optctx::values {

void add(Occurrences& occurrences, Kind kind, Occurrence value) {
    switch (kind) {
        case Kind::list:
        case Kind::bits:
        case Kind::other:
            break;  // the values add up
        default:
            occurrences.before += static_cast<unsigned>(occurrences.values.size());
            occurrences.values.clear();
    }
    occurrences.values.push_back(std::move(value));
}

std::string text_of(const Occurrences& given) {
    std::string text = given.before == 0 ? "" : std::to_string(given.before) + " before ";
    const std::string* name = nullptr;
    for (const Occurrence& value : given.values) {
        if (name == nullptr || *name != value.name) text += std::to_string(value.name.size()) + ":" + value.name;
        text += value.text ? std::to_string(value.text->size()) + "=" + *value.text : "-";
        name = &value.name;
    }
    return text;
}

}  // namespace optctx::values
