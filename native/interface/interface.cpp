#include "interface/interface.hpp"

#include "interface/lookup.hpp"
#include "interface/table.hpp"
#include "view/scope.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

// One object for each handle given out. Many handles may share a context.
struct optctx_context {
    std::shared_ptr<const optctx::view::Context> context;
    mutable std::atomic<std::size_t> owners{1};
};

namespace optctx::interface {
namespace {

std::atomic<FindBound> find_bound{nullptr};

int32_t fail(optctx_error* error, optctx_status status, std::string_view message) noexcept {
    if (error == nullptr) return status;
    const std::size_t length = std::min(message.size(), sizeof error->message - 1);
    std::memcpy(error->message, message.data(), length);
    error->message[length] = '\0';
    return status;
}

// No exception may leave the interface.
template <class Work>
int32_t guarded(optctx_error* error, Work&& work) noexcept {
    try {
        return work();
    } catch (const std::exception& exception) {
        return fail(error, OPTCTX_FAILED, exception.what());
    }
}

int32_t not_attached(optctx_error* error) noexcept {
    return fail(error, OPTCTX_NOT_ATTACHED,
                "optctx is loaded but has not attached to LLVM yet: call optctx.attach() from Python "
                "before");
}

const Entry& entry_of(const optctx_option* option) noexcept { return static_cast<const Entry&>(*option); }

const view::Context* context_of(const optctx_context* handle) noexcept {
    return handle == nullptr ? nullptr : handle->context.get();
}

int32_t current(const optctx_context** out, optctx_error* error) noexcept {
    const Table* table = published();
    if (table == nullptr) return not_attached(error);
    return guarded(error, [&] {
        const view::Context* context = view::current_context(table->image());
        *out = context == nullptr ? nullptr : new optctx_context{context->shared_from_this()};
        return OPTCTX_OK;
    });
}

int32_t bound(const void* llvm_context, const optctx_context** out, optctx_error* error) noexcept {
    const Table* table = published();
    if (table == nullptr) return not_attached(error);
    return guarded(error, [&]() -> int32_t {
        const FindBound find = find_bound.load(std::memory_order_acquire);
        auto context = find == nullptr ? nullptr : find(table->image(), llvm_context);
        if (context == nullptr) return fail(error, OPTCTX_NOT_BOUND, "no OptionContext is bound to this LLVMContext");
        *out = new optctx_context{std::move(context)};
        return OPTCTX_OK;
    });
}

void retain(const optctx_context* handle) noexcept {
    if (handle != nullptr) handle->owners.fetch_add(1, std::memory_order_relaxed);
}

void release(const optctx_context* handle) noexcept {
    if (handle != nullptr && handle->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete handle;
}

int32_t find(const char* name, std::size_t length, const optctx_option** out, optctx_error* error) noexcept {
    const Table* table = published();
    if (table == nullptr) return not_attached(error);
    const std::string_view wanted(name, length);
    if (const Entry* entry = table->find(wanted)) {
        *out = entry;
        return OPTCTX_OK;
    }
    if (error == nullptr) return OPTCTX_UNKNOWN_OPTION;  // no caller reads the message, which takes long to build
    return guarded(error, [&] { return fail(error, OPTCTX_UNKNOWN_OPTION, table->unknown(wanted)); });
}

int32_t read(const optctx_context* handle, const optctx_option* option, optctx_value* out,
             optctx_error* error) noexcept {
    const Entry& entry = entry_of(option);
    return guarded(error, [&]() -> int32_t {
        if (entry.element_kind == view::Kind::other)
            return fail(error, OPTCTX_UNREADABLE,
                        "cannot look up '" + std::string(option->name) + "': the option is of type " + option->type +
                            ", whose value has no readable form");
        read_value(context_of(handle), entry, *out);
        return OPTCTX_OK;
    });
}

void release_value(optctx_value* value) noexcept { free_value(*value); }

std::uint32_t occurrences(const optctx_context* handle, const optctx_option* option) noexcept {
    return occurrences_of(context_of(handle), entry_of(option));
}

constexpr optctx_interface functions{OPTCTX_INTERFACE_VERSION,
                                     sizeof(optctx_interface),
                                     current,
                                     bound,
                                     retain,
                                     release,
                                     find,
                                     read,
                                     release_value,
                                     occurrences};

}  // namespace

void set_find_bound(FindBound find) noexcept { find_bound.store(find, std::memory_order_release); }

}  // namespace optctx::interface

// The module's default visibility is hidden.
extern "C" __attribute__((visibility("default"), used)) const optctx_interface* optctx_find_interface(
    std::uint32_t version) {
    return version == OPTCTX_INTERFACE_VERSION ? &optctx::interface::functions : nullptr;
}
