// Implements the C interface of the module (optctx/interface.h).
#include "optctx/interface.h"

#include "image/layouts.hpp"
#include "image/memory.hpp"
#include "intercept/outside.hpp"
#include "interface/table.hpp"
#include "scopes/scope.hpp"
#include "values/read_values.hpp"
#include "views/view.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

struct optctx_context {
    std::shared_ptr<optctx::contexts::Context> context;
};

namespace optctx::interface {
namespace {

struct Table {
    values::Space& space;  // lives as long as the process
    std::uintptr_t begin;  // of the library's code
    std::uintptr_t end;
    std::vector<Option> options;
    std::unordered_map<std::string_view, const Option*> by_name;  // with aliases
};

// Null before `publish`.
views::PerImage<std::atomic<const Table*>> tables{};
std::atomic<const Table*> first{nullptr};  // of llvmlite's image, which is the process's default

// The same numbers in the same order.
static_assert(static_cast<int>(values::Kind::boolean) == OPTCTX_BOOL);
static_assert(static_cast<int>(values::Kind::int32) == OPTCTX_INT32);
static_assert(static_cast<int>(values::Kind::uint64) == OPTCTX_UINT64);
static_assert(static_cast<int>(values::Kind::enumeration) == OPTCTX_ENUM);

constexpr std::size_t longest = 100;  // bytes of a text in a message

// Why a function of the interface fails. `what` is the message.
struct Refused : std::runtime_error {
    Refused(optctx_status why, const std::string& message) : std::runtime_error(message), status(why) {}
    optctx_status status;
};

// Returns at most so many bytes of a text in UTF-8, and no part of a character.
std::string_view beginning(std::string_view text, std::size_t length) {
    if (text.size() <= length) return text;
    while (length > 0 && (text[length] & 0xC0) == 0x80) --length;  // inside a character
    return text.substr(0, length);
}

// Returns the beginning of the text in quotes, for a message.
std::string quoted(std::string_view text) {
    return "'" + std::string(beginning(text, longest)) + (text.size() > longest ? "...'" : "'");
}

// Throws Refused.
const Option& find(const Table& table, std::string_view name) {
    if (const auto found = table.by_name.find(name); found != table.by_name.end()) return *found->second;
    throw Refused(OPTCTX_UNKNOWN_OPTION,
                  "no LLVM option is called " + quoted(name) + "; `optctx options` shows every name");
}

// Reading

void hold(optctx_value& value, std::string_view text) {
    value.text = text.data();
    value.length = text.size();
}

// Hands over what the option has at this address.
void hand_over(const Option& option, std::uintptr_t address, optctx_take take, void* to) {
    optctx_value value{};
    value.kind = static_cast<std::uint32_t>(option.kind);
    values::Scalar scalar;
    if (option.kind == values::Kind::enumeration) {
        const std::uint64_t stored = values::read_integer(option.enum_size, address);
        const auto at = std::find(option.stored.begin(), option.stored.end(), stored);
        if (at != option.stored.end())
            hold(value, option.choices[static_cast<std::size_t>(at - option.stored.begin())]);
    } else {
        scalar = values::read_scalar(option.kind, address);
        if (const auto* given = std::get_if<values::Text>(&scalar)) {
            value.kind = OPTCTX_STRING;
            hold(value, given->bytes);
        } else if (const auto* real = std::get_if<double>(&scalar)) {
            value.real = *real;
        } else if (const auto* integer = std::get_if<std::int64_t>(&scalar)) {
            value.bits = static_cast<std::uint64_t>(*integer);
        } else if (const auto* truth = std::get_if<bool>(&scalar)) {
            value.bits = *truth;
        } else {
            value.bits = std::get<std::uint64_t>(scalar);
        }
    }
    take(to, &value);
}

// Returns the table of the image with code at this address; of the one to begin with, if it is null.
const Table& table_at(const void* code) {
    if (code == nullptr) {
        if (const Table* table = first.load(std::memory_order_acquire)) return *table;
        throw Refused(OPTCTX_UNAVAILABLE,
                      "optctx is loaded but has not attached to LLVM yet: call optctx.attach() from Python before");
    }
    const auto address = reinterpret_cast<std::uintptr_t>(code);
    for (const auto& each : tables) {
        const Table* table = each.load(std::memory_order_acquire);
        if (table != nullptr && address >= table->begin && address < table->end) return *table;
    }
    throw Refused(OPTCTX_UNAVAILABLE,
                  "optctx has not attached to the library with code at this address: give that of a function of an "
                  "LLVM that Python has attached optctx to");
}

// Returns null where the thread sees the process-wide values.
std::shared_ptr<const contexts::Context> seen_here(unsigned image) {
    const contexts::Context* here = scopes::current_context(image);
    return here == nullptr ? bind::context_outside(image) : here->shared_from_this();
}

// Preparing

[[noreturn]] void refuse(optctx_status status, std::string_view name, const std::string& why) {
    throw Refused(status, "cannot set " + quoted(name) + why);
}

// LLVM says "tool: for the --name option: ...".
std::string reason(std::string_view said) {
    const std::size_t at = said.find("for the -");
    if (at != std::string_view::npos) said.remove_prefix(at);
    return std::string(said.substr(0, said.find_last_not_of(" \n") + 1));
}

const Option& find_scopable(const Table& table, std::string_view name) {
    const Option& option = find(table, name);
    if (option.slot == values::no_slot)
        refuse(OPTCTX_PROCESS_WIDE, name,
               " for one thread: " + option.reason + "; leave it out, or set it in a process of its own");
    return option;
}

// Adds what one argument gives its option, split as LLVM splits its command line.
void add(const Option& option, std::string_view name, std::string_view text, values::Occurrences& given) {
    if (!image::is_utf8(text)) refuse(OPTCTX_BAD_VALUE, name, ": the text of an option is UTF-8");
    // A literal choice is parsed under its own name; everything else under the option's.
    const auto own = option.names.begin() + static_cast<std::ptrdiff_t>(option.own_names);
    const std::string parsed_as =
        std::find(option.names.begin(), own, name) != own ? std::string(name) : option.names.front();
    const auto& object = *reinterpret_cast<const image::RawOption*>(option.object);
    if (object.takes_no_value(option.expected_index)) {
        if (text != "true" && text != name)
            refuse(OPTCTX_BAD_VALUE, name, ": LLVM does not allow a value here; use \"true\"");
        given.values.push_back({parsed_as, std::nullopt});
        return;
    }
    const bool splits = object.splits_at_commas();
    for (std::size_t begin = 0;;) {
        const std::size_t end = splits ? text.find(',', begin) : std::string_view::npos;
        given.values.push_back({parsed_as, std::string(text.substr(begin, end - begin))});
        if (end == std::string_view::npos) return;
        begin = end + 1;
    }
}

struct Given {
    const Option* option;
    std::string_view name;
    values::Occurrences occurrences;
};

// All that is given for an option is parsed at once, as on a command line.
std::vector<Given> given_by(const Table& table, std::span<const char* const> arguments) {
    std::vector<Given> all;
    for (const std::string_view argument : arguments) {
        const std::size_t end = std::min(argument.find('='), argument.size());
        const std::string_view name = argument.substr(0, end);
        const Option& option = find_scopable(table, name);
        if (end == argument.size()) refuse(OPTCTX_BAD_VALUE, name, " without a value; give NAME=VALUE, or NAME=true");
        auto known = std::find_if(all.begin(), all.end(), [&](const Given& each) { return each.option == &option; });
        if (known == all.end())
            known = all.insert(known, {&option, name, {}});
        else if (!option.has_elements() && option.kind != values::Kind::other)
            refuse(OPTCTX_BAD_VALUE, name, " to several values: it takes one");
        add(option, name, argument.substr(end + 1), known->occurrences);
    }
    return all;
}

// Returns a context with the values of `base` and the arguments on top. Null stands for the process-wide values of this
// moment. Changes nothing. Throws Refused.
std::shared_ptr<contexts::Context> make_context(const Table& table, std::shared_ptr<const contexts::Context> base,
                                                std::span<const char* const> arguments) {
    values::Space& space = table.space;
    if (base == nullptr) base = std::make_shared<contexts::Context>(space, space.drift(), values::Setting(), nullptr);
    values::Setting all;
    for (const Given& given : given_by(table, arguments)) {
        try {
            for (values::Patch& patch : space.parse(given.option->slot, given.occurrences))
                all.push_back(std::move(patch));
        } catch (const values::ParseError& error) {
            refuse(OPTCTX_BAD_VALUE, given.name, ": LLVM says: " + reason(error.what()));
        }
    }
    return base->with(all);
}

// Scopes

void check_may_enter(const char* what) {
    if (!scopes::may_enter())
        throw Refused(OPTCTX_SCOPE, std::string(what) + ": the interpreter, or this thread, is ending; do it before");
}

optctx_scope enter_now(const std::shared_ptr<contexts::Context>& context) {
    const unsigned image = context->space().image();
    if (views::is_attached(image)) {
        const scopes::ScopeOfThread scope = scopes::enter_of_thread(context);
        if (views::is_attached(image)) return {scope.thread, scope.number};
        scopes::leave_of_thread(scope);  // another thread detached before this one was counted
    }
    throw Refused(OPTCTX_UNAVAILABLE,
                  "cannot enter a scope: optctx has detached from this LLVM; attach it again from Python, such as with "
                  "optctx.attach(), and keep it attached");
}

// The functions

// Runs `work`. No exception may leave the interface.
template <class Work>
int32_t guarded(optctx_error* error, Work&& work) noexcept {
    const auto keep = [error](optctx_status status, std::string_view message) {
        const std::string_view kept = beginning(message, sizeof error->message - 1);
        std::memcpy(error->message, kept.data(), kept.size());
        error->message[kept.size()] = '\0';
        return status;
    };
    try {
        work();
        return OPTCTX_OK;
    } catch (const Refused& refused) {
        return keep(refused.status, refused.what());
    } catch (const std::exception& exception) {
        return keep(OPTCTX_FAILED, exception.what());
    }
}

int32_t read(const void* code, const char* name, std::size_t length, optctx_take take, void* to,
             optctx_error* error) noexcept {
    return guarded(error, [&] {
        const Table& table = table_at(code);
        const Option& option = find(table, {name, length});
        if (option.has_elements() || option.kind == values::Kind::other)
            throw Refused(OPTCTX_OTHER_TYPE,
                          "cannot look up " + quoted({name, length}) +
                              (option.has_elements() ? ": it is a list; ask Python's current() for it"
                                                     : ": its value has no readable form"));
        const auto context = seen_here(table.space.image());
        const bool in_context = context != nullptr && option.value_slot != values::no_slot;
        hand_over(option,
                  in_context ? reinterpret_cast<std::uintptr_t>(context->address(option.value_slot)) + option.offset
                             : option.live,
                  take, to);
    });
}

int32_t prepare(const void* code, const char* const* arguments, std::size_t count, const optctx_context** out,
                optctx_error* error) noexcept {
    return guarded(error, [&] {
        const Table& table = table_at(code);
        check_may_enter("cannot make a context");
        *out = new optctx_context{make_context(table, seen_here(table.space.image()), {arguments, count})};
    });
}

void release(const optctx_context* context) noexcept { delete context; }

int32_t enter(const optctx_context* context, optctx_scope* out, optctx_error* error) noexcept {
    return guarded(error, [&] {
        check_may_enter("cannot enter a scope");
        *out = enter_now(context->context);
    });
}

int32_t leave(optctx_scope scope, optctx_error* error) noexcept {
    return guarded(error, [&] {
        const scopes::Left left = scopes::leave_of_thread({scope.thread, scope.number});
        if (left == scopes::Left::on_another_thread)
            throw Refused(OPTCTX_SCOPE,
                          "cannot leave a scope: it was entered on another thread; leave it on that thread");
        if (left == scopes::Left::not_inside)
            throw Refused(OPTCTX_SCOPE,
                          "cannot leave a scope: this thread is not inside it, it was not entered or was left already");
    });
}

constexpr optctx_interface functions{OPTCTX_INTERFACE_VERSION, read, prepare, release, enter, leave};

}  // namespace

void publish(values::Space& space, const image::Library& library, std::vector<Option> options) {
    auto table =
        std::unique_ptr<Table>(new Table{space, library.text_begin(), library.text_end(), std::move(options), {}});
    for (const Option& option : table->options)
        for (const std::string& name : option.names) table->by_name.emplace(name, &option);
    const Table* none = nullptr;
    auto& place = tables[space.image()];
    if (place.compare_exchange_strong(none, table.get(), std::memory_order_release)) (void)table.release();
}

void begin_with(unsigned image) noexcept { first.store(tables[image].load(), std::memory_order_release); }

}  // namespace optctx::interface

// The module's default visibility is hidden.
extern "C" __attribute__((visibility("default"), used)) const optctx_interface* optctx_find_interface(
    std::uint32_t version) {
    return version == OPTCTX_INTERFACE_VERSION ? &optctx::interface::functions : nullptr;
}
