#include "interface/expectation.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <vector>

namespace optctx::interface {
namespace {

constexpr std::size_t longest_said = 300;
constexpr std::size_t most_choices = 12;

// LLVM says "tool: for the --name option: ...".
std::string reason(std::string_view said) {
    const std::size_t at = said.find("for the -");
    if (at != std::string_view::npos) said.remove_prefix(at);
    while (!said.empty() && std::string_view(": \n").find(said.back()) != std::string_view::npos) said.remove_suffix(1);
    while (!said.empty() && std::string_view(": \n").find(said.front()) != std::string_view::npos)
        said.remove_prefix(1);
    if (said.empty()) return "no reason given";
    if (said.size() <= longest_said) return std::string(said);
    return std::string(said.substr(0, longest_said / 2)) + "..." +
           std::string(said.substr(said.size() - longest_said / 2));
}

std::string choices(const OptionEntry& entry, std::string_view given) {
    std::vector<std::string_view> known;
    for (const Choice& choice : entry.choices)
        if (!choice.name.empty()) known.push_back(choice.name);
    const std::string_view first = given.substr(0, given.find(','));
    if (const std::string_view near = nearest(first, known); !near.empty() && near != first)
        return "did you mean " + std::string(near) + "?";
    std::string words = "expected one of ";
    for (std::size_t i = 0; i < std::min(known.size(), most_choices); ++i) {
        if (i > 0) words += ", ";
        words += known[i];
    }
    if (known.size() > most_choices) words += " and " + std::to_string(known.size() - most_choices) + " more";
    return words;
}

std::string by_kind(values::Kind kind) {
    switch (kind) {
        case values::Kind::int32:
            return "expected a whole number from -2,147,483,648 to 2,147,483,647";
        case values::Kind::uint32:
            return "expected a whole number from 0 to 4,294,967,295";
        case values::Kind::int64:
            return "expected a whole number from -9,223,372,036,854,775,808 to 9,223,372,036,854,775,807";
        case values::Kind::uint64:
            return "expected a whole number from 0 to 18,446,744,073,709,551,615";
        case values::Kind::float32:
        case values::Kind::float64:
            return "expected a number, such as 0.5";
        case values::Kind::character:
            return "expected one character";
        default:
            return "";
    }
}

}  // namespace

std::string with_expectation(const OptionEntry& entry, std::string_view given, std::string_view said) {
    const std::string why = reason(said);
    std::string expected = entry.choices.empty() ? by_kind(entry.element_kind) : choices(entry, given);
    if (expected.empty()) return why;
    if (why.back() != '!') return why + "; " + expected;
    expected.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(expected.front())));
    return why + " " + expected;
}

}  // namespace optctx::interface
