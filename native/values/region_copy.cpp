#include "values/region_copy.hpp"

#include "image/layouts.hpp"
#include "values/strings.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <string_view>
#include <utility>

namespace optctx::values {
namespace {

using image::RawBits;
using image::RawCowHeader;
using image::RawLibcxxFunction;
using image::RawList;
using image::RawOption;
using image::RawString;
using image::RawVector;

std::uintptr_t load_word(const void* at) {
    std::uintptr_t word;
    std::memcpy(&word, at, sizeof word);
    return word;
}

void append_bytes(const void* bytes, std::size_t count, std::string& text) {
    text.append(reinterpret_cast<const char*>(&count), sizeof count);
    text.append(static_cast<const char*>(bytes), count);
}

void append_string(const String& string, std::string& text) { append_bytes(string.data(), string.size(), text); }

void release_string(const String& string) {
    if (const RawCowHeader* header = string.header()) {
        if (header->capacity == 0) return;
        const std::atomic_ref references(string.header()->references);
        // Never release the last share.
        if (references.fetch_sub(1, std::memory_order_relaxed) <= 0) references.fetch_add(1, std::memory_order_relaxed);
    } else if (!string.is_local()) {
        ::operator delete(string.data());
    }
}

// Takes a share in what a std::shared_ptr leads to, or gives one back, but never the last. Its control block is
// {vtable, int use count, int weak count} in libstdc++, and {vtable, long use count, long weak count} in libc++, where
// 0 is one use.
void share_pointer(Abi abi, const void* pointer, bool take) {
    const std::uintptr_t control = load_word(static_cast<const std::uint8_t*>(pointer) + 8);
    if (control == 0) return;
    const auto change = [take](auto& count, int one_use) {
        const std::atomic_ref uses(count);
        if (take)
            uses.fetch_add(1);
        else if (uses.fetch_sub(1) <= one_use)
            uses.fetch_add(1);
    };
    if (abi == Abi::libcxx)
        change(*reinterpret_cast<std::int64_t*>(control + 8), 0);
    else
        change(*reinterpret_cast<std::int32_t*>(control + 8), 1);
}

void duplicate_vector(std::uintptr_t (&vector)[3]) {
    const std::uintptr_t size = vector[1] - vector[0];
    if (size == 0) {
        vector[0] = vector[1] = vector[2] = 0;
        return;
    }
    void* const copy = ::operator new(size);  // freed by LLVM or never
    std::memcpy(copy, reinterpret_cast<const void*>(vector[0]), size);
    vector[0] = reinterpret_cast<std::uintptr_t>(copy);
    vector[1] = vector[2] = vector[0] + size;
}

std::string_view bytes_of(const std::uintptr_t (&vector)[3]) {
    return {reinterpret_cast<const char*>(vector[0]), vector[1] - vector[0]};
}

bool same_strings(Abi abi, const std::uintptr_t (&a)[3], const std::uintptr_t (&b)[3]) {
    if (a[1] - a[0] != b[1] - b[0]) return false;
    for (std::uintptr_t at = 0; at < a[1] - a[0]; at += String::bytes(abi))
        if (!(String(abi, reinterpret_cast<void*>(a[0] + at)) == String(abi, reinterpret_cast<void*>(b[0] + at))))
            return false;
    return true;
}

RawList& list_at(void* value) { return *static_cast<RawList*>(value); }

const RawList& list_at(const void* value) { return *static_cast<const RawList*>(value); }

// The strings of a list, in turn.
template <class Visit>
void for_strings(const Region& region, const void* list, const Visit& visit) {
    const auto& values = list_at(list).values;
    if (region.ownership != Ownership::list_of_strings) return;
    for (std::uintptr_t at = values[0]; at < values[1]; at += String::bytes(region.abi))
        visit(String(region.abi, reinterpret_cast<const void*>(at)));
}

// Return the size in bytes of a value that owns nothing.
std::size_t plain_size(const Region& region) {
    if (region.role != Role::option) return region.size;
    switch (region.kind) {
        case Kind::boolean:
        case Kind::character:
            return 1;
        case Kind::bool_or_default:
        case Kind::int32:
        case Kind::uint32:
        case Kind::float32:
        case Kind::bits:
            return 4;
        default:
            return 8;  // an enum's padding is zero in static storage
    }
}

// Relocate the addresses of its own storage that an option holds, in a copy of it. Examines only words that LLVM
// declares as pointers: a number may equal such an address by chance, and so may the bytes that malloc left in the
// padding after a bool, in an option on the heap.
void relocate_own_addresses(const Region& region, const void* from, void* to) {
    constexpr std::size_t word = sizeof(std::uintptr_t);
    auto* const copy = static_cast<std::uint8_t*>(to);
    const auto target = [&](std::size_t at) { return load_word(copy + at) - reinterpret_cast<std::uintptr_t>(from); };
    const auto move = [&](std::size_t at) {
        const std::uintptr_t moved = reinterpret_cast<std::uintptr_t>(copy) + target(at);
        std::memcpy(copy + at, &moved, sizeof moved);
    };
    // Inline elements of the categories and the subcommands. This range holds no numbers except the vectors' sizes.
    for (std::size_t at = offsetof(RawOption, categories); at < region.value_offset; at += word)
        if (target(at) < region.value_offset) move(at);
    // A callback of libc++'s, the last member, holds a callable that leads to itself.
    if (region.size >= region.value_offset + sizeof(RawLibcxxFunction)) {
        const std::size_t begin = region.size - sizeof(RawLibcxxFunction);
        const std::size_t leads = begin + offsetof(RawLibcxxFunction, callable);
        if (target(leads) == begin) move(leads);
    }
    constexpr std::array with_parser_state{Kind::enumeration, Kind::list, Kind::bits, Kind::other};
    if (std::ranges::find(with_parser_state, region.kind) == with_parser_state.end()) return;
    // llvm::cl::generic_parser_base holds the option that owns it, followed by the inline elements of a SmallVector if
    // there are at most eight values.
    for (std::size_t at = region.value_offset + word; at + 2 * word <= region.size; at += word) {
        if (target(at) != 0) continue;
        move(at);
        if (target(at + word) == at + word + sizeof(RawVector)) move(at + word);
        return;
    }
}

}  // namespace

void add(Occurrences& occurrences, Kind kind, Occurrence value) {
    const bool add_up = kind == Kind::list || kind == Kind::bits || kind == Kind::other;
    if (!add_up) {
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

Block::Block(std::size_t size) : bytes_(new std::uint8_t[size]()) {}

std::uint8_t* value_of(const Region& region, void* object) {
    return static_cast<std::uint8_t*>(object) + (region.role == Role::option ? region.value_offset : 0);
}

const std::uint8_t* value_of(const Region& region, const void* object) {
    return value_of(region, const_cast<void*>(object));
}

void copy_object(const Region& region, const void* from, void* to) {
    std::memcpy(to, from, region.size);
    if (region.role == Role::option) relocate_own_addresses(region, from, to);
    if (region.kind != Kind::long_string) return;
    const auto relocate = [&](std::size_t at) {
        String string(Abi::libstdcxx, static_cast<std::uint8_t*>(to) + at);
        string.relocate({Abi::libstdcxx, static_cast<const std::uint8_t*>(from) + at});
    };
    // The value, or a pointer to it; in an option the default comes next.
    const bool leads_to_it = region.role == Role::option && region.variable != no_slot;
    const std::size_t value = region.role == Role::option ? region.value_offset : 0;
    if (!leads_to_it) relocate(value);
    if (region.role == Role::option)
        relocate(value + (leads_to_it ? sizeof(void*) : sizeof(RawString)) + image::option_value_head);
}

std::shared_ptr<Block> clone(const Region& region, const void* from) {
    auto block = std::make_shared<Block>(region.size);
    copy_object(region, from, block->data());
    share_value(region, block->data());
    return block;
}

void share_string(String string) {
    if (const RawCowHeader* header = string.header()) {  // the empty one is a static object without a count
        if (header->capacity != 0) std::atomic_ref(string.header()->references).fetch_add(1, std::memory_order_relaxed);
        return;
    }
    if (string.is_local()) return;
    auto* data = static_cast<char*>(::operator new(string.capacity() + 1));  // freed by LLVM, here or never
    std::memcpy(data, string.data(), string.size() + 1);
    string.lead_to(data, string.capacity());
}

void share_value(const Region& region, void* object) {
    std::uint8_t* value = value_of(region, object);
    switch (region.ownership) {
        case Ownership::none:
            return;
        case Ownership::string:
            return share_string({region.abi, value});
        case Ownership::shared_pointer:
            return share_pointer(region.abi, value, true);
        case Ownership::list_of_strings:
        case Ownership::list: {
            const std::uintptr_t from = list_at(value).values[0];
            duplicate_vector(list_at(value).values);
            duplicate_vector(list_at(value).positions);
            std::uintptr_t at = from;
            for_strings(region, value, [&](String element) {
                element.relocate({region.abi, reinterpret_cast<const void*>(at)});
                share_string(element);
                at += String::bytes(region.abi);
            });
        }
    }
}

void release_value(const Region& region, void* object) {
    std::uint8_t* value = value_of(region, object);
    switch (region.ownership) {
        case Ownership::none:
            return;
        case Ownership::string:
            return release_string({region.abi, value});
        case Ownership::shared_pointer:
            return share_pointer(region.abi, value, false);
        case Ownership::list_of_strings:
        case Ownership::list:
            for_strings(region, value, release_string);
            ::operator delete(reinterpret_cast<void*>(list_at(value).values[0]));
            ::operator delete(reinterpret_cast<void*>(list_at(value).positions[0]));
    }
}

void give_string(const Region& region, void* object, const void* from, Characters& own) {
    String held(region.abi, value_of(region, object));
    const String wanted(region.abi, value_of(region, from));
    // LLVM has freed the characters, or moved them elsewhere. Others that it has taken are as good.
    if (own.held && held.data() != own.data) own = {};
    if (held.data() != nullptr && !held.is_local()) own = {held.data(), held.capacity()};
    std::memcpy(value_of(region, object), value_of(region, from), String::bytes(region.abi));
    held.relocate(wanted);
    own.held = !held.is_local();
    if (!own.held) return;
    if (own.data == nullptr || own.capacity < wanted.size()) {
        const std::size_t capacity = wanted.size() | 1;  // odd, as libc++ has it
        own = {static_cast<char*>(::operator new(capacity + 1)), capacity, true};
    }
    std::memcpy(own.data, wanted.data(), wanted.size() + 1);
    held.lead_to(own.data, own.capacity);
}

bool same_string(const Region& region, const void* object, const void* from) {
    return String(region.abi, value_of(region, object)) == String(region.abi, value_of(region, from));
}

void copy_but_string(const Region& region, const void* from, void* to) {
    std::uint8_t held[sizeof(RawString)];
    std::memcpy(held, value_of(region, to), String::bytes(region.abi));
    copy_object(region, from, to);
    std::memcpy(value_of(region, to), held, String::bytes(region.abi));
}

void clear_value(const Region& region, void* object) {
    std::uint8_t* value = value_of(region, object);
    switch (region.kind) {
        case Kind::list: {
            RawList& list = list_at(value);
            std::memset(list.values, 0, sizeof list.values);
            std::memset(list.positions, 0, sizeof list.positions);
            list.default_assigned = false;
            return;
        }
        case Kind::bits:
            std::memset(value, 0, sizeof(RawBits));
            return;
        case Kind::string:
            share_value(region, object);  // LLVM's assignment gives this share back
            return;
        case Kind::long_string:
        case Kind::libcxx_string:
            if (is_own_string(region)) String(region.abi, value).make_empty();
            return;
        default:
            if (region.role == Role::variable && region.ownership == Ownership::shared_pointer)
                std::memset(value, 0, region.size);
    }
}

void clear_occurrences(void* option) {
    auto* raw = static_cast<RawOption*>(option);
    raw->occurrences = 0;
    raw->position = 0;
}

bool same_state(const Region& region, const void* a, const void* b) {
    if (region.role == Role::option) {
        const auto* one = static_cast<const RawOption*>(a);
        const auto* other = static_cast<const RawOption*>(b);
        if (one->occurrences != other->occurrences || one->position != other->position) return false;
        if (region.variable != no_slot) return true;  // the variable holds its value
    }
    const std::uint8_t* left = value_of(region, a);
    const std::uint8_t* right = value_of(region, b);
    switch (region.ownership) {
        case Ownership::string:
            return same_string(region, a, b);
        case Ownership::list_of_strings:
            return same_strings(region.abi, list_at(left).values, list_at(right).values);
        case Ownership::list:
            return bytes_of(list_at(left).values) == bytes_of(list_at(right).values);
        default:
            return std::memcmp(left, right, plain_size(region)) == 0;
    }
}

void append_state(const Region& region, const void* object, std::string& text) {
    if (region.role == Role::option) {
        const auto* raw = static_cast<const RawOption*>(object);
        append_bytes(&raw->occurrences, sizeof raw->occurrences, text);
        append_bytes(&raw->position, sizeof raw->position, text);
        if (region.variable != no_slot) return;  // the variable holds its value
    }
    const std::uint8_t* value = value_of(region, object);
    switch (region.ownership) {
        case Ownership::string:
            return append_string({region.abi, value}, text);
        case Ownership::list:
        case Ownership::list_of_strings: {
            const std::string_view bytes = bytes_of(list_at(value).values);
            const std::size_t size = bytes.size();
            if (region.ownership == Ownership::list) return append_bytes(bytes.data(), size, text);
            append_bytes(&size, sizeof size, text);
            return for_strings(region, value, [&text](const String& element) { append_string(element, text); });
        }
        default:
            append_bytes(value, plain_size(region), text);
    }
}

}  // namespace optctx::values
