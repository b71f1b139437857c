#include "interface/table.hpp"

#include "image/memory.hpp"
#include "views/view.hpp"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstddef>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

namespace optctx::interface {
namespace {

views::PerImage<std::atomic<const Table*>> tables{};
std::atomic<const Table*> default_table{nullptr};  // of llvmlite's image, which is the process's default

constexpr bool same(values::Kind kind, optctx_kind number) {
    return static_cast<unsigned>(kind) == static_cast<unsigned>(number);
}
// The numbers are part of the interface: append new kinds at the end.
static_assert(same(values::Kind::boolean, OPTCTX_BOOL) && same(values::Kind::bool_or_default, OPTCTX_BOOL_OR_DEFAULT));
static_assert(same(values::Kind::int32, OPTCTX_INT32) && same(values::Kind::uint32, OPTCTX_UINT32));
static_assert(same(values::Kind::int64, OPTCTX_INT64) && same(values::Kind::uint64, OPTCTX_UINT64));
static_assert(same(values::Kind::float32, OPTCTX_FLOAT) && same(values::Kind::float64, OPTCTX_DOUBLE));
static_assert(same(values::Kind::character, OPTCTX_CHAR) && same(values::Kind::string, OPTCTX_STRING));
static_assert(same(values::Kind::enumeration, OPTCTX_ENUM) && same(values::Kind::list, OPTCTX_LIST));
static_assert(same(values::Kind::bits, OPTCTX_BITS) && same(values::Kind::other, OPTCTX_OTHER));

// Returns the Levenshtein distance, or `limit` if the distance is at least that.
std::size_t edits(std::string_view a, std::string_view b, std::size_t limit) {
    if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) >= limit) return limit;
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0];
        std::size_t least = row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
            least = std::min(least, row[j + 1]);
        }
        if (least >= limit) return limit;
    }
    return std::min(row.back(), limit);
}

std::uint32_t stored_size(values::Kind kind) {
    switch (kind) {
        case values::Kind::boolean:
        case values::Kind::character:
            return 1;
        case values::Kind::int64:
        case values::Kind::uint64:
        case values::Kind::float64:
        case values::Kind::string:
            return 8;
        default:
            return 4;
    }
}

bool has_elements(values::Kind kind) { return kind == values::Kind::list || kind == values::Kind::bits; }

constexpr std::size_t longest = 100;  // bytes of a text in a message

bool is_inside_character(char c) { return static_cast<unsigned char>(c) >> 6 == 2; }

}  // namespace

std::string_view beginning(std::string_view text, std::size_t length) {
    if (text.size() <= length) return text;
    while (length > 0 && is_inside_character(text[length])) --length;
    return text.substr(0, length);
}

std::string_view ending(std::string_view text, std::size_t length) {
    std::size_t at = text.size() - std::min(text.size(), length);
    while (at < text.size() && is_inside_character(text[at])) ++at;
    return text.substr(at);
}

std::string quoted(std::string_view text) {
    const std::string_view kept = beginning(text, longest);
    const bool plain = !image::is_utf8(kept);
    std::string words = "'";
    words += kept;
    std::replace_if(
        words.begin(), words.end(),
        [plain](char c) {
            const auto byte = static_cast<unsigned char>(c);
            return std::iscntrl(byte) != 0 || (plain && byte >= 0x80);
        },
        '?');
    words += kept.size() < text.size() ? "'..." : "'";
    return words;
}

std::string_view nearest(std::string_view name, const std::vector<std::string_view>& known) {
    std::string_view best;
    std::size_t least = name.size() / 3 + 1;
    for (const std::string_view candidate : known) {
        const std::size_t count = edits(name, candidate, least + 1);
        // Among equally near names, take the first in alphabetical order, so that the result is deterministic.
        if (count > least || (count == least && (best.empty() || candidate >= best))) continue;
        best = candidate;
        least = count;
    }
    return best;
}

OptionEntry::OptionEntry(std::string own_name, std::string type_name, values::Kind of_value, values::Kind of_elements,
                         unsigned enum_size)
    : optctx_option{},
      name_(std::move(own_name)),
      type_(std::move(type_name)),
      value_kind(of_value),
      element_kind(has_elements(of_value) ? of_elements : of_value) {
    name = name_.c_str();
    type = type_.c_str();
    kind = static_cast<std::uint32_t>(value_kind);
    element = static_cast<std::uint32_t>(element_kind);
    size = element_kind == values::Kind::enumeration ? enum_size : stored_size(element_kind);
}

void Names::add(std::unique_ptr<OptionEntry> entry, const std::vector<std::string>& names) {
    for (const std::string& name : names) names_.emplace(name, entry.get());
    entries_.push_back(std::move(entry));
}

const OptionEntry* Names::find(std::string_view name) const {
    const auto found = names_.find(name);
    return found == names_.end() ? nullptr : found->second;
}

void Names::append_to(std::vector<std::string_view>& known) const {
    for (const auto& [name, entry] : names_) known.push_back(name);
}

void Names::belong_to(const optctx_image& image) noexcept {
    for (const auto& entry : entries_) entry->image = &image;
}

Table::Table(values::Space& space, const image::Library& library, Names names)
    : optctx_image{},
      space_(space),
      path_(library.path()),
      build_id_(library.build_id()),
      begin_(library.text_begin()),
      end_(library.text_end()),
      names_(std::move(names)) {
    path = path_.c_str();
    build_id = build_id_.c_str();
    names_.belong_to(*this);
}

std::string Table::unknown(std::string_view name) const {
    std::string bare(name.substr(std::min(name.find_first_not_of('-'), name.size())));
    std::replace(bare.begin(), bare.end(), '_', '-');
    std::vector<std::string_view> known;
    names_.append_to(known);
    const std::string_view near = nearest(bare, known);
    return "no LLVM option is called " + quoted(name) + " among the " + std::to_string(known.size()) + " of " +
           path_.substr(path_.rfind('/') + 1) +
           (near.empty() ? "; `optctx options` shows every name" : "; did you mean " + std::string(near) + "?");
}

void publish(std::unique_ptr<const Table> table) {
    const Table* none = nullptr;
    if (tables[table->index()].compare_exchange_strong(none, table.get(), std::memory_order_release)) table.release();
}

const Table* published(unsigned image) noexcept { return tables[image].load(std::memory_order_acquire); }

const Table* published_at(std::uintptr_t address) noexcept {
    for (const auto& each : tables)
        if (const Table* table = each.load(std::memory_order_acquire); table != nullptr && table->contains(address))
            return table;
    return nullptr;
}

void begin_with(unsigned image) noexcept { default_table.store(published(image), std::memory_order_release); }

const Table* published_by_default() noexcept { return default_table.load(std::memory_order_acquire); }

}  // namespace optctx::interface
