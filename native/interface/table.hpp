// Every option by name: its type and where its value is. Python fills it in once, when it attaches.
#pragma once

#include "optctx/interface.h"
#include "view/region.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace optctx::interface {

// Where to read: in a context, `offset` bytes into the storage of `slot`; in LLVM's own storage, at `live`, which is
// also what every context shows of an option without a slot.
struct Place {
    std::uint32_t slot = view::no_slot;
    std::size_t offset = 0;
    std::uintptr_t live = 0;
};

struct Choice {
    std::string name;
    std::uint64_t stored;  // zero-extended
};

// An option as the interface hands it out, and how it is read.
class Entry : public optctx_option {
    std::string name_;
    std::string type_;

public:
    // `of_elements` counts for lists, bits and sets, `enum_size` (bytes that LLVM stores one in) for enums and sets of
    // them.
    Entry(std::string own_name, std::string type_name, view::Kind of_value, view::Kind of_elements, unsigned enum_size);
    Entry(const Entry&) = delete;  // `name` and `type` point into it
    Entry& operator=(const Entry&) = delete;

    const view::Kind value_kind;
    const view::Kind element_kind;
    std::size_t element_size = 0;  // of a list: what view::read_list takes
    Place value;
    Place object;  // the cl::Option
    std::vector<Choice> choices;
};

class Table {
public:
    Table(unsigned image, std::string library) : image_(image), library_(std::move(library)) {}
    unsigned image() const noexcept { return image_; }
    // Its entries are found under each of their names.
    void add(std::unique_ptr<Entry> entry, const std::vector<std::string>& names);
    const Entry* find(std::string_view name) const;
    // What to say of a name that is not there: how many there are, and what may have been meant.
    std::string unknown(std::string_view name) const;

private:
    struct Hash : std::hash<std::string_view> {
        using is_transparent = void;
    };

    unsigned image_;
    std::string library_;
    std::vector<std::unique_ptr<Entry>> entries_;
    std::unordered_map<std::string, const Entry*, Hash, std::equal_to<>> names_;
};

// From now on lookups find the table, which lives as long as the process. The first one stays.
void publish(std::unique_ptr<const Table> table);
// Null before.
const Table* published() noexcept;

}  // namespace optctx::interface
