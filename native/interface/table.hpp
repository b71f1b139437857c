// Every option of an image by name, with its type and the place of its value. Python fills the table once, when optctx
// attaches to the image.
#pragma once

#include "image/library.hpp"
#include "values/space.hpp"

#include "optctx/interface.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace optctx::interface {

// Where to read a value: in a context, `offset` bytes into the storage of `slot`; process-wide, at `live`. An option
// without a slot is at `live` in every context.
struct Place {
    std::uint32_t slot = values::no_slot;
    std::size_t offset = 0;
    std::uintptr_t live = 0;
};

struct Choice {
    std::string name;
    std::uint64_t stored;  // zero-extended
};

// An option as the interface returns it, and how to read it.
class OptionEntry : public optctx_option {
    std::string name_;
    std::string type_;

public:
    // `of_elements` matters for lists and bits. `enum_size`, the bytes in which LLVM stores one enum, matters for
    // enums. The image is that of the table that gets it.
    OptionEntry(std::string own_name, std::string type_name, values::Kind of_value, values::Kind of_elements,
                unsigned enum_size);
    OptionEntry(const OptionEntry&) = delete;  // `name` and `type` point into it
    OptionEntry& operator=(const OptionEntry&) = delete;

    const values::Kind value_kind;
    const values::Kind element_kind;
    std::size_t element_size = 0;  // of a list: the argument for values::read_list
    Place value;
    Place object;  // the cl::Option object
    std::vector<Choice> choices;
    std::vector<std::string> own_names;  // without those of aliases
    std::string reason;                  // why it cannot be set per thread
    unsigned expected_index = 0;         // of getValueExpectedFlagDefault in LLVM's virtual functions, or 0
};

// Entries by name.
class Names {
public:
    Names() = default;
    Names(Names&&) = default;
    Names& operator=(Names&&) = default;
    // Finds the entry under each of these names.
    void add(std::unique_ptr<OptionEntry> entry, const std::vector<std::string>& names);
    const OptionEntry* find(std::string_view name) const;
    void append_to(std::vector<std::string_view>& known) const;
    void belong_to(const optctx_image& image) noexcept;

private:
    struct Hash : std::hash<std::string_view> {
        using is_transparent = void;
    };

    std::vector<std::unique_ptr<OptionEntry>> entries_;
    std::unordered_map<std::string, const OptionEntry*, Hash, std::equal_to<>> names_;
};

// The table of an image is the object by which the interface knows that image.
class Table : public optctx_image {
public:
    // `names`: the library's own options. The space lives as long as the process.
    Table(values::Space& space, const image::Library& library, Names names);
    Table(const Table&) = delete;  // `path` and `build_id` point into it
    Table& operator=(const Table&) = delete;
    unsigned index() const noexcept { return space_.image(); }
    values::Space& space() const noexcept { return space_; }
    // Whether the library's code is at this address.
    bool contains(std::uintptr_t address) const noexcept { return address - begin_ < end_ - begin_; }
    const OptionEntry* find(std::string_view name) const { return names_.find(name); }
    // Returns the message for an unknown name: how many options there are, and the nearest name.
    std::string unknown(std::string_view name) const;

private:
    values::Space& space_;
    std::string path_;
    std::string build_id_;
    std::uintptr_t begin_;
    std::uintptr_t end_;
    Names names_;
};

// Return at most so many bytes of a text in UTF-8, and no part of a character.
std::string_view beginning(std::string_view text, std::size_t length);
std::string_view ending(std::string_view text, std::size_t length);
// Returns the text in quotes, for a message: shortened, and with '?' in place of what a message cannot show.
std::string quoted(std::string_view text);
// Returns the name in `known` with the smallest edit distance to `name`, or an empty view if that distance is more than
// a third of its letters.
std::string_view nearest(std::string_view name, const std::vector<std::string_view>& known);

// Makes lookups find the table. It lives until the process ends. Only the first call for an image has an effect.
void publish(std::unique_ptr<const Table> table);
// Return the table of the image with this number, or with code at this address. Null before `publish`.
const Table* published(unsigned image) noexcept;
const Table* published_at(std::uintptr_t address) noexcept;
// The image of lookups that name none. `begin_with` takes a published one.
void begin_with(unsigned image) noexcept;
const Table* published_by_default() noexcept;

}  // namespace optctx::interface
