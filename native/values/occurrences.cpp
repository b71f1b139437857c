#include "values/occurrences.hpp"

#include <utility>

namespace optctx::values {

std::vector<Occurrence> occurrences(const std::string& name, const std::vector<std::optional<std::string>>& texts) {
    std::vector<Occurrence> values;
    for (const auto& text : texts) values.push_back({name, text});
    return values;
}

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
