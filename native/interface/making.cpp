#include "interface/making.hpp"

#include "image/layouts.hpp"
#include "interface/expectation.hpp"
#include "interface/texts.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace optctx::interface {
namespace {

using Texts = std::vector<std::optional<std::string>>;

constexpr unsigned value_disallowed = 3;  // cl::ValueExpected
constexpr unsigned comma_separated = 1;   // cl::MiscFlags

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
    if (text.find('\0') == std::string_view::npos && is_utf8(text)) return;
    refuse(OPTCTX_BAD_VALUE, name,
           " to " + quoted(text) + ": the text of an option is UTF-8 without NUL; take the other characters out");
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

// One occurrence, since each replaces the one before.
Texts set_text(const OptionEntry& entry, std::span<const optctx_text> elements) {
    std::string all;
    for (const optctx_text& element : elements) {
        const bool known = std::any_of(entry.choices.begin(), entry.choices.end(),
                                       [&](const Choice& choice) { return choice.name == view(element); });
        if (!all.empty()) all += ',';
        if (known) all += '+';
        all += view(element);
    }
    return {all};
}

Texts element_texts(const OptionEntry& entry, std::string_view name, std::span<const optctx_text> elements) {
    if (entry.value_kind == values::Kind::set) return set_text(entry, elements);
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
    for (const optctx_text& each : values) check_text(name, view(each));
    const bool several = entry.value_kind == values::Kind::list || entry.value_kind == values::Kind::bits;
    if (setting.elements != 0 && (several || entry.value_kind == values::Kind::set))
        return element_texts(entry, name, values);
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
    if (entry == nullptr && table.is_late(name))  // what Python would say of it needs the GIL
        refuse(
            OPTCTX_PROCESS_WIDE, name,
            " for one thread: code outside LLVM registered it, and optctx redirects only the reads of LLVM's own code; "
            "leave it out, or enter OptionContext(..., process_wide=\"exclusive\") in Python");
    if (entry == nullptr) throw Refused(OPTCTX_UNKNOWN_OPTION, table.unknown(name));
    if (entry->object.slot == values::no_slot)
        refuse(OPTCTX_PROCESS_WIDE, name,
               " for one thread: " + entry->reason +
                   "; leave it out, or enter OptionContext(..., process_wide=\"exclusive\") in Python, which sets it "
                   "or says "
                   "why it cannot");
    return *entry;
}

values::Setting parse(const Table& table, const optctx_setting& setting) {
    const std::string_view name = view(setting.name);
    const OptionEntry& entry = scopable(table, name);
    const Texts texts = texts_of(entry, name, setting);
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
        made = std::make_shared<contexts::Context>(table.space(), table.space().drift(), values::Setting(), nullptr,
                                                   nullptr);
    values::Setting all;
    for (const optctx_setting& setting : settings)
        for (values::Patch& patch : parse(table, setting)) all.push_back(std::move(patch));
    return all.empty() ? made : made->with(all);
}

}  // namespace optctx::interface
