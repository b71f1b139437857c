// Implements the C interface of the module (optctx/interface.h).

#include "image/layouts.hpp"
#include "intercept/outside.hpp"
#include "interface/making.hpp"
#include "interface/table.hpp"
#include "scopes/scope.hpp"
#include "values/read_values.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

// One object for each handle given out. Many handles may share a context.
struct optctx_context {
    std::shared_ptr<const optctx::contexts::Context> context;
    mutable std::atomic<std::size_t> owners{1};
};

namespace optctx::interface {
namespace {

// What an optctx_value points to if it is not a single plain item.
struct Owned {
    std::vector<values::Scalar> scalars;
    std::vector<optctx_item> items;
};

std::uintptr_t address_of(const contexts::Context* context, const Place& place) {
    if (context == nullptr || place.slot == values::no_slot) return place.live;
    return reinterpret_cast<std::uintptr_t>(context->address(place.slot)) + place.offset;
}

optctx_item named(const Choice& choice, std::uint64_t bits) {
    return {bits, 0.0, choice.name.c_str(), choice.name.size()};
}

optctx_item enumerator(const OptionEntry& entry, std::uint64_t stored) {
    const auto found = std::find_if(entry.choices.begin(), entry.choices.end(),
                                    [stored](const Choice& choice) { return choice.stored == stored; });
    return found == entry.choices.end() ? optctx_item{stored, 0.0, nullptr, 0} : named(*found, stored);
}

// The item's text still belongs to the scalar.
optctx_item item(const OptionEntry& entry, const values::Scalar& scalar) {
    if (entry.element_kind == values::Kind::enumeration) return enumerator(entry, std::get<std::uint64_t>(scalar));
    if (const auto* text = std::get_if<values::Text>(&scalar)) {
        if (entry.element_kind == values::Kind::character)
            return {static_cast<unsigned char>(text->bytes.front()), 0.0, nullptr, 0};
        return {0, 0.0, text->bytes.c_str(), text->bytes.size()};
    }
    if (const auto* real = std::get_if<double>(&scalar)) return {0, *real, nullptr, 0};
    if (const auto* integer = std::get_if<std::int64_t>(&scalar))
        return {static_cast<std::uint64_t>(*integer), 0.0, nullptr, 0};
    if (const auto* truth = std::get_if<bool>(&scalar)) return {*truth, 0.0, nullptr, 0};
    return {std::get<std::uint64_t>(scalar), 0.0, nullptr, 0};
}

void hand_over(std::unique_ptr<Owned> owned, optctx_value& out) {
    out.items = owned->items.data();
    out.count = owned->items.size();
    out.owned = owned.release();
}

void read_several(const OptionEntry& entry, std::vector<values::Scalar> scalars, optctx_value& out) {
    auto owned = std::make_unique<Owned>();
    owned->scalars = std::move(scalars);
    for (const values::Scalar& scalar : owned->scalars) owned->items.push_back(item(entry, scalar));
    hand_over(std::move(owned), out);
}

void read_bits(const OptionEntry& entry, std::uintptr_t address, optctx_value& out) {
    const auto mask = std::get<std::uint64_t>(values::read_scalar(values::Kind::bits, address));
    auto owned = std::make_unique<Owned>();
    for (const Choice& choice : entry.choices)
        if (mask >> choice.stored & 1) owned->items.push_back(named(choice, choice.stored));
    hand_over(std::move(owned), out);
}

void read_single(const optctx_item& single, optctx_value& out) {
    out.single = single;
    out.items = &out.single;
    out.count = 1;
    out.owned = nullptr;
}

// Reads in `context` or, if null, in LLVM's own storage. Pass `out` to `release_value` afterwards. Throws
// std::bad_alloc. The entry must not be of kind other.
void read_value(const contexts::Context* context, const OptionEntry& entry, optctx_value& out) {
    const std::uintptr_t address = address_of(context, entry.value);
    switch (entry.value_kind) {
        case values::Kind::list:
            return read_several(entry, values::read_list(entry.element_kind, entry.element_size, address), out);
        case values::Kind::bits:
            return read_bits(entry, address, out);
        case values::Kind::string:
            return read_several(entry, {values::read_scalar(entry.value_kind, address)}, out);
        case values::Kind::enumeration:
            return read_single(enumerator(entry, values::read_integer(entry.size, address)), out);
        default:
            return read_single(item(entry, values::read_scalar(entry.value_kind, address)), out);
    }
}

// Returns how many times the option was given there.
std::uint32_t occurrences_of(const contexts::Context* context, const OptionEntry& entry) {
    return reinterpret_cast<const image::RawOption*>(address_of(context, entry.object))->occurrences;
}

int32_t fail(optctx_error* error, optctx_status status, std::string_view message) noexcept {
    if (error == nullptr) return status;
    const std::string_view kept = beginning(message, sizeof error->message - 1);
    std::memcpy(error->message, kept.data(), kept.size());
    error->message[kept.size()] = '\0';
    return status;
}

// No exception may leave the interface.
template <class Work>
int32_t guarded(optctx_error* error, Work&& work) noexcept {
    try {
        return work();
    } catch (const Refused& refused) {
        return fail(error, refused.status, refused.what());
    } catch (const std::exception& exception) {
        return fail(error, OPTCTX_FAILED, exception.what());
    }
}

int32_t not_attached(const void* address, optctx_error* error) noexcept {
    return fail(error, OPTCTX_NOT_ATTACHED,
                address == nullptr
                    ? "optctx is loaded but has not attached to LLVM yet: call optctx.attach() from Python before"
                    : "optctx is loaded but has not attached to the library with code at this address: expected the "
                      "address of a function of an LLVM that Python code has attached optctx to before");
}

const Table& table_of(const optctx_image* image) noexcept { return static_cast<const Table&>(*image); }

const OptionEntry& entry_of(const optctx_option* option) noexcept { return static_cast<const OptionEntry&>(*option); }

const contexts::Context* context_of(const optctx_context* handle) noexcept {
    return handle == nullptr ? nullptr : handle->context.get();
}

int32_t find_image(const void* address, const optctx_image** out, optctx_error* error) noexcept {
    const Table* table =
        address == nullptr ? published_by_default() : published_at(reinterpret_cast<std::uintptr_t>(address));
    if (table == nullptr) return not_attached(address, error);
    *out = table;
    return OPTCTX_OK;
}

int32_t current(const optctx_image* image, const optctx_context** out, optctx_error* error) noexcept {
    return guarded(error, [&] {
        const unsigned index = table_of(image).index();
        const contexts::Context* here = scopes::current_context(index);
        auto context = here == nullptr ? bind::context_outside(index) : here->shared_from_this();
        *out = context == nullptr ? nullptr : new optctx_context{std::move(context)};
        return OPTCTX_OK;
    });
}

int32_t bound(const optctx_image* image, const void* llvm_context, const optctx_context** out,
              optctx_error* error) noexcept {
    return guarded(error, [&]() -> int32_t {
        const auto binding = bind::bound(table_of(image).index(), llvm_context);
        if (binding == nullptr) return fail(error, OPTCTX_NOT_BOUND, "no OptionContext is bound to this LLVMContext");
        *out = new optctx_context{binding->context};
        return OPTCTX_OK;
    });
}

void retain(const optctx_context* handle) noexcept {
    if (handle != nullptr) handle->owners.fetch_add(1, std::memory_order_relaxed);
}

void release(const optctx_context* handle) noexcept {
    if (handle != nullptr && handle->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete handle;
}

int32_t find(const optctx_image* image, const char* name, std::size_t length, const optctx_option** out,
             optctx_error* error) noexcept {
    return guarded(error, [&]() -> int32_t {
        const Table& table = table_of(image);
        const std::string_view wanted(name, length);
        *out = table.find(wanted);
        if (*out != nullptr) return OPTCTX_OK;
        if (error == nullptr) return OPTCTX_UNKNOWN_OPTION;  // no caller reads the message, which takes long to build
        return fail(error, OPTCTX_UNKNOWN_OPTION, table.unknown(wanted));
    });
}

bool is_of(const OptionEntry& entry, const contexts::Context* context) noexcept {
    return context == nullptr || context->space().image() == table_of(entry.image).index();
}

int32_t other_image(const OptionEntry& entry, optctx_error* error) {
    return fail(error, OPTCTX_OTHER_IMAGE,
                "cannot look up '" + std::string(entry.name) + "': the option is of the LLVM in " + entry.image->path +
                    ", and the context is of another one; find the option in the context's image");
}

int32_t read(const optctx_context* handle, const optctx_option* option, optctx_value* out,
             optctx_error* error) noexcept {
    const OptionEntry& entry = entry_of(option);
    return guarded(error, [&]() -> int32_t {
        if (entry.element_kind == values::Kind::other)
            return fail(error, OPTCTX_UNREADABLE,
                        "cannot look up '" + std::string(option->name) + "': the option is of type " + option->type +
                            ", whose value has no readable form");
        if (!is_of(entry, context_of(handle))) return other_image(entry, error);
        read_value(context_of(handle), entry, *out);
        return OPTCTX_OK;
    });
}

void release_value(optctx_value* value) noexcept { delete static_cast<Owned*>(std::exchange(value->owned, nullptr)); }

int32_t occurrences(const optctx_context* handle, const optctx_option* option, std::uint32_t* out,
                    optctx_error* error) noexcept {
    const OptionEntry& entry = entry_of(option);
    return guarded(error, [&]() -> int32_t {
        if (!is_of(entry, context_of(handle))) return other_image(entry, error);
        *out = occurrences_of(context_of(handle), entry);
        return OPTCTX_OK;
    });
}

int32_t too_late(const char* what, optctx_error* error) {
    return fail(error, OPTCTX_SCOPE, std::string(what) + ": the interpreter, or this thread, is ending; do it before");
}

int32_t make(const optctx_image* image, const optctx_context* base, const optctx_setting* settings, std::size_t count,
             const optctx_context** out, optctx_error* error) noexcept {
    return guarded(error, [&]() -> int32_t {
        const Table& table = table_of(image);
        const contexts::Context* values = context_of(base);
        if (!scopes::may_enter()) return too_late("cannot make a context", error);
        if (values != nullptr && values->space().image() != table.index())
            return fail(error, OPTCTX_OTHER_IMAGE,
                        "cannot make a context for the LLVM in " + std::string(table.path) +
                            " with the values of one that is for another LLVM; give a context of the same image");
        *out = new optctx_context{make_context(table, values, {settings, count})};
        return OPTCTX_OK;
    });
}

int32_t not_attached_now(optctx_error* error) {
    return fail(error, OPTCTX_NOT_ATTACHED,
                "cannot enter a scope: optctx has detached from this LLVM; attach it again from Python, such as with "
                "optctx.attach(), and keep it attached");
}

int32_t enter_now(const std::shared_ptr<contexts::Context>& context, optctx_scope* out, optctx_error* error) {
    const unsigned image = context->space().image();
    if (!views::is_attached(image)) return not_attached_now(error);
    const scopes::ScopeOfThread scope = scopes::enter_of_thread(context);
    if (!views::is_attached(image)) {  // another thread detached before this one was counted
        scopes::leave_of_thread(scope);
        return not_attached_now(error);
    }
    *out = {scope.thread, scope.number};
    return OPTCTX_OK;
}

int32_t enter(const optctx_context* handle, optctx_scope* out, optctx_error* error) noexcept {
    return guarded(error, [&]() -> int32_t {
        if (handle == nullptr)
            return fail(error, OPTCTX_SCOPE, "cannot enter a scope of no context; make a context of the values first");
        if (!scopes::may_enter()) return too_late("cannot enter a scope", error);
        // Entering counts the thread, and changes no value.
        return enter_now(std::const_pointer_cast<contexts::Context>(handle->context), out, error);
    });
}

int32_t leave(optctx_scope scope, optctx_error* error) noexcept {
    switch (scopes::leave_of_thread({scope.thread, scope.number})) {
        case scopes::Left::on_another_thread:
            return fail(error, OPTCTX_SCOPE,
                        "cannot leave a scope: it was entered on another thread; leave it on that thread");
        case scopes::Left::not_inside:
            return fail(error, OPTCTX_SCOPE, "cannot leave a scope: this thread is not inside it, it was left already");
        default:
            return OPTCTX_OK;
    }
}

constexpr optctx_interface functions{OPTCTX_INTERFACE_VERSION,
                                     sizeof(optctx_interface),
                                     find_image,
                                     current,
                                     bound,
                                     retain,
                                     release,
                                     find,
                                     read,
                                     release_value,
                                     occurrences,
                                     make,
                                     enter,
                                     leave};

}  // namespace

}  // namespace optctx::interface

// The module's default visibility is hidden.
extern "C" __attribute__((visibility("default"), used)) const optctx_interface* optctx_find_interface(
    std::uint32_t version) {
    return version == OPTCTX_INTERFACE_VERSION ? &optctx::interface::functions : nullptr;
}
