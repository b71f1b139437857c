// LLVM's options as a thread, or an LLVMContext, sees them: lookups for C++ code that shares a process with optctx.
//
//   #include <optctx/option_context.hpp>
//
//   unsigned count = optctx::current().get<unsigned>("unroll-count");
//
// Self-contained: C++17, no LLVM headers, nothing to link (but -ldl before glibc 2.34). The extension module is found
// among the libraries of the process at the first lookup. Python must have attached by then, which any use of optctx
// does. Everything here may be called by any thread at any time, with or without Python's lock.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <string_view>

#include "optctx/detail/convert.hpp"
#include "optctx/detail/loaded.hpp"
#include "optctx/errors.hpp"
#include "optctx/interface.h"

namespace optctx {
inline namespace v1 {

namespace detail {

[[noreturn]] inline void fail_with(std::int32_t status, const optctx_error& error) {
    if (status == OPTCTX_NOT_ATTACHED) fail<Unavailable>(error.message);
    if (status == OPTCTX_UNKNOWN_OPTION) fail<UnknownOption>(error.message);
    if (status == OPTCTX_UNREADABLE) fail<TypeMismatch>(error.message);
    if (status == OPTCTX_NOT_BOUND) fail<NotBound>(error.message);
    fail<Error>(error.message);
}

inline const optctx_option& find_option(std::string_view name) {
    const optctx_option* option = nullptr;
    optctx_error error;
    const std::int32_t status = interface().find(name.data(), name.size(), &option, &error);
    if (status != OPTCTX_OK) fail_with(status, error);
    return *option;
}

template <class T>
const optctx_option& find_option_as(std::string_view name) {
    const optctx_option& option = find_option(name);
    check_type<T>(option);
    return option;
}

class Value {
public:
    Value(const optctx_context* context, const optctx_option& option) {
        optctx_error error;
        const std::int32_t status = interface().read(context, &option, &value_, &error);
        if (status != OPTCTX_OK) fail_with(status, error);
    }
    Value(const Value&) = delete;
    Value& operator=(const Value&) = delete;
    ~Value() { interface().release_value(&value_); }

    const optctx_value& get() const noexcept { return value_; }

private:
    optctx_value value_;
};

}  // namespace detail

template <class T>
class Option;

// A full set of option values. Copies share it; it may outlive the scope and the Python object that it came from.
//
// An option is looked up by its name or an alias, without dashes, as
//   bool                       bool
//   std::optional<bool>        boolOrDefault; nothing where it is unset
//   an integer type            an integer option, if the type holds all of its values; an enum as LLVM stores it
//   float, double, char        the same; double holds float too
//   std::string                a string; an enum's choice, TypeMismatch if it holds none of its choices
//   std::optional<std::string> an enum's choice, nothing if it holds none
//   an enum type               an enum or boolOrDefault of the same size, such as LLVM's own type
//   std::vector of these       a list; bits as the choices that are set, or their numbers; a set of an enum
// The values are those that Python's OptionContext gives. Options that cannot be set per thread give what LLVM itself
// sees: the process-wide value.
class OptionContext {
public:
    OptionContext(const OptionContext& other) noexcept : context_(other.context_) {
        detail::interface().retain(context_);
    }
    OptionContext& operator=(const OptionContext& other) noexcept {
        detail::interface().retain(other.context_);
        detail::interface().release(context_);
        context_ = other.context_;
        return *this;
    }
    ~OptionContext() { detail::interface().release(context_); }

    // Throws UnknownOption and TypeMismatch.
    template <class T>
    T get(std::string_view name) const {
        return read<T>(detail::find_option_as<T>(name));
    }

    // Whether there is an option of that name; the same in every context.
    bool contains(std::string_view name) const noexcept {
        const optctx_option* option = nullptr;
        return detail::interface().find(name.data(), name.size(), &option, nullptr) == OPTCTX_OK;
    }

    // How often the option was given here: 0 where it has its default. Throws UnknownOption.
    unsigned occurrences(std::string_view name) const {
        return detail::interface().occurrences(context_, &detail::find_option(name));
    }

    // True outside any scope: these are LLVM's own, process-wide values, as they are whenever they are looked up, and
    // as unguarded against another thread that is changing them at that moment as LLVM itself is.
    bool process_wide() const noexcept { return context_ == nullptr; }

private:
    explicit OptionContext(const optctx_context* context) noexcept : context_(context) {}

    template <class T>
    T read(const optctx_option& option) const {
        return detail::convert<T>(option, detail::Value(context_, option).get());
    }

    template <class T>
    friend class Option;
    friend OptionContext current();
    friend std::optional<OptionContext> bound(const void* llvm_context);

    const optctx_context* context_;
};

// The context that this thread is in: its innermost scope, outside any scope the process-wide values. Throws
// Unavailable.
inline OptionContext current() {
    const optctx_context* context = nullptr;
    optctx_error error;
    const std::int32_t status = detail::interface().current(&context, &error);
    if (status != OPTCTX_OK) detail::fail_with(status, error);
    return OptionContext(context);
}

// The context that is bound to an llvm::LLVMContext (by its address), or nothing. Throws Unavailable.
inline std::optional<OptionContext> bound(const void* llvm_context) {
    const optctx_context* context = nullptr;
    optctx_error error;
    const std::int32_t status = detail::interface().bound(llvm_context, &context, &error);
    if (status == OPTCTX_NOT_BOUND) return std::nullopt;
    if (status != OPTCTX_OK) detail::fail_with(status, error);
    return OptionContext(context);
}

// The same; throws NotBound where nothing is bound, rather than giving values of no binding. For what Python's
// lookup(name, llvm_context=...) gives: bound(llvm_context).value_or(current()).
inline OptionContext of(const void* llvm_context) {
    if (std::optional<OptionContext> found = bound(llvm_context)) return *found;
    detail::fail<NotBound>("no OptionContext is bound to this LLVMContext");
}

// An option that is looked up often: its name is resolved, and its type checked, at the first `get`.
//
//   static const optctx::Option<unsigned> unroll_count{"unroll-count"};
//   unroll_count.get(context);
template <class T>
class Option {
public:
    // `name` must outlive this: a literal.
    explicit constexpr Option(std::string_view name) noexcept : name_(name) {}
    Option(const Option&) = delete;
    Option& operator=(const Option&) = delete;

    // Throws UnknownOption and TypeMismatch.
    T get(const OptionContext& context) const {
        const optctx_option* option = option_.load(std::memory_order_acquire);
        if (option == nullptr) {
            option = &detail::find_option_as<T>(name_);
            option_.store(option, std::memory_order_release);
        }
        return context.read<T>(*option);
    }
    // For this thread.
    T get() const { return get(current()); }

private:
    std::string_view name_;
    mutable std::atomic<const optctx_option*> option_{nullptr};
};

}  // namespace v1
}  // namespace optctx
