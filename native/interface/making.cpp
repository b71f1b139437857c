#include "interface/making.hpp"

#include "image/layouts.hpp"
#include "image/memory.hpp"
#include "values/read_values.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
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
    return std::string(beginning(said, longest_said / 2)) + "..." + std::string(ending(said, longest_said / 2));
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

// Returns why LLVM refuses the value, of all that it said, and what the option takes, in the words of Python's messages
// (optctx/values/texts.py).
std::string with_expectation(const OptionEntry& entry, std::string_view given, std::string_view said) {
    const std::string why = reason(said);
    std::string expected = entry.choices.empty() ? by_kind(entry.element_kind) : choices(entry, given);
    if (expected.empty()) return why;
    if (why.back() != '!') return why + "; " + expected;
    expected.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(expected.front())));
    return why + " " + expected;
}

using Texts = std::vector<std::optional<std::string>>;

constexpr unsigned value_disallowed = 3;  // cl::ValueExpected
constexpr unsigned comma_separated = 1;   // cl::MiscFlags
constexpr long most_nested = 1000;        // parentheses of a regular expression, as in optctx/values/overrides.py

std::string_view view(const optctx_text& text) { return {text.data, text.length}; }

[[noreturn]] void refuse(optctx_status status, std::string_view name, const std::string& why) {
    throw Refused(status, "cannot set " + quoted(name) + why);
}

const image::RawOption& object_of(const OptionEntry& entry) {
    return *reinterpret_cast<const image::RawOption*>(entry.object.live);
}

bool takes_no_value(const OptionEntry& entry) {
    const image::RawOption& option = object_of(entry);
    unsigned expected = option.value_expected();
    if (expected == 0 && entry.expected_index != 0) {
        using Expected = unsigned (*)(const image::RawOption*);
        expected = reinterpret_cast<Expected>(const_cast<void*>(option.vtable[entry.expected_index]))(&option);
    }
    return expected == value_disallowed;
}

bool splits_at_commas(const OptionEntry& entry) { return (object_of(entry).misc() & comma_separated) != 0; }

void check_text(std::string_view name, std::string_view text) {
    if (text.find('\0') == std::string_view::npos && image::is_utf8(text)) return;
    refuse(OPTCTX_BAD_VALUE, name,
           " to " + quoted(text) + ": the text of an option is UTF-8 without NUL; take the other characters out");
}

// Refuses what overflows the stack of LLVM's parser of regular expressions.
void check_nesting(std::string_view name, std::string_view text) {
    long level = 0;
    for (const char each : text) {
        level += each == '(' ? 1 : each == ')' ? -1 : 0;
        if (level > most_nested)
            refuse(OPTCTX_BAD_VALUE, name,
                   ": it nests more than 1,000 levels deep, which can overflow the stack of LLVM's parser");
    }
}

std::optional<std::string> one_text(const OptionEntry& entry, std::string_view name, std::string_view text) {
    check_text(name, text);
    if (!takes_no_value(entry)) return std::string(text);
    if (text == "true" || text == name) return std::nullopt;
    refuse(OPTCTX_BAD_VALUE, name, " to " + quoted(text) + ": LLVM does not allow a value here; use \"true\"");
}

Texts split(const OptionEntry& entry, std::string_view text) {
    if (!splits_at_commas(entry)) return {std::string(text)};
    Texts parts;
    for (std::size_t begin = 0;;) {
        const std::size_t end = text.find(',', begin);
        parts.emplace_back(text.substr(begin, end - begin));
        if (end == std::string_view::npos) return parts;
        begin = end + 1;
    }
}

Texts element_texts(const OptionEntry& entry, std::string_view name, std::span<const optctx_text> elements) {
    Texts texts;
    for (const optctx_text& element : elements) {
        texts.push_back(one_text(entry, name, view(element)));
        if (splits_at_commas(entry) && view(element).find(',') != std::string_view::npos)
            refuse(OPTCTX_BAD_VALUE, name,
                   " to an element with a comma, found " + quoted(view(element)) +
                       ": LLVM splits values of this option at commas; give each part as an element");
    }
    return texts;
}

Texts texts_of(const OptionEntry& entry, std::string_view name, const optctx_setting& setting) {
    const std::span values(setting.values, setting.count);
    for (const optctx_text& each : values) {
        check_text(name, view(each));
        if (entry.value_kind == values::Kind::other) check_nesting(name, view(each));
    }
    const bool several = entry.value_kind == values::Kind::list || entry.value_kind == values::Kind::bits;
    if (setting.elements != 0 && several) return element_texts(entry, name, values);
    if (values.size() != 1)
        refuse(OPTCTX_BAD_VALUE, name,
               ": the option is of type " + std::string(entry.type) + " and takes one value, found " +
                   std::to_string(values.size()));
    return several ? split(entry, view(values[0])) : Texts{one_text(entry, name, view(values[0]))};
}

std::string joined(const Texts& texts) {
    std::string all;
    for (const auto& text : texts) {
        if (!all.empty()) all += ',';
        all += text.value_or("");
    }
    return all;
}

const OptionEntry& scopable(const Table& table, std::string_view name) {
    const OptionEntry* entry = table.find(name);
    if (entry == nullptr) throw Refused(OPTCTX_UNKNOWN_OPTION, table.unknown(name));
    if (entry->object.slot == values::no_slot)
        refuse(
            OPTCTX_PROCESS_WIDE, name,
            " for one thread: " + entry->reason +
                "; leave it out, or set it in a process of its own, as optctx.compiling.FreshProcess does in Python");
    return *entry;
}

bool has_registered_elements(const Table& table, const OptionEntry& entry) {
    if (entry.value_kind != values::Kind::list) return false;
    const auto* storage = static_cast<const std::byte*>(table.space().defaults()[entry.value.slot]);
    const auto at = reinterpret_cast<std::uintptr_t>(storage + entry.value.offset);
    return !values::read_list(entry.element_kind, entry.element_size, at).empty();
}

values::Setting parse(const Table& table, const optctx_setting& setting) {
    const std::string_view name = view(setting.name);
    const OptionEntry& entry = scopable(table, name);
    const Texts texts = texts_of(entry, name, setting);
    if (texts.empty() && has_registered_elements(table, entry))
        refuse(OPTCTX_BAD_VALUE, name,
               " to an empty list: LLVM registered it with elements, and no command line takes elements away; name "
               "those that it shall have, or leave the option out");
    // A literal choice is parsed under its own name; everything else under the option's.
    const bool is_own = std::find(entry.own_names.begin(), entry.own_names.end(), name) != entry.own_names.end();
    try {
        return table.space().parse(
            entry.object.slot, {0, values::occurrences(is_own ? std::string(name) : std::string(entry.name), texts)});
    } catch (const values::ParseError& error) {
        const std::string given = joined(texts);
        refuse(OPTCTX_BAD_VALUE, name,
               " to " + quoted(given) + ": LLVM says: " + with_expectation(entry, given, error.what()));
    }
}

}  // namespace

std::shared_ptr<const contexts::Context> make_context(const Table& table, const contexts::Context* base,
                                                      std::span<const optctx_setting> settings) {
    std::shared_ptr<const contexts::Context> made;
    if (base != nullptr)
        made = base->shared_from_this();
    else
        made = std::make_shared<contexts::Context>(table.space(), table.space().drift(), values::Setting(), nullptr);
    values::Setting all;
    for (const optctx_setting& setting : settings)
        for (values::Patch& patch : parse(table, setting)) all.push_back(std::move(patch));
    return all.empty() ? made : made->with(all);
}

}  // namespace optctx::interface
