// Look up LLVM's options as a thread or an LLVMContext sees them, from C++ code in the same process as optctx.
//
//   #include <optctx/option_context.hpp>
//
//   unsigned count = optctx::current().get<unsigned>("unroll-count");
//
// Self-contained: needs C++17, no LLVM headers, and no library (except -ldl before glibc 2.34). The first lookup finds
// the extension module among the libraries of the process. Python code must have attached optctx by then; any use of
// optctx attaches it. All functions may be called from any thread at any time, with or without the GIL.
//
// A process can have several LLVMs. Functions without an Image are about llvmlite's.
#pragma once

#include <atomic>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "optctx/detail/convert.hpp"
#include "optctx/detail/loaded.hpp"
#include "optctx/errors.hpp"
#include "optctx/interface.h"

namespace optctx {
inline namespace v2 {

namespace detail {

[[noreturn]] inline void fail_with(std::int32_t status, const optctx_error& error) {
    if (status == OPTCTX_NOT_ATTACHED) fail<Unavailable>(error.message);
    if (status == OPTCTX_UNKNOWN_OPTION) fail<UnknownOption>(error.message);
    if (status == OPTCTX_UNREADABLE) fail<TypeMismatch>(error.message);
    if (status == OPTCTX_NOT_BOUND) fail<NotBound>(error.message);
    if (status == OPTCTX_OTHER_IMAGE) fail<TypeMismatch>(error.message);
    if (status == OPTCTX_BAD_VALUE) fail<InvalidValue>(error.message);
    if (status == OPTCTX_PROCESS_WIDE) fail<ProcessWideOption>(error.message);
    if (status == OPTCTX_SCOPE) fail<ScopeError>(error.message);
    fail<Error>(error.message);
}

inline const optctx_image& find_image(const void* address) {
    const optctx_image* image = nullptr;
    optctx_error error;
    const std::int32_t status = interface().image(address, &image, &error);
    if (status != OPTCTX_OK) fail_with(status, error);
    return *image;
}

inline const optctx_option& find_option(const optctx_image& image, std::string_view name) {
    const optctx_option* option = nullptr;
    optctx_error error;
    const std::int32_t status = interface().find(&image, name.data(), name.size(), &option, &error);
    if (status != OPTCTX_OK) fail_with(status, error);
    return *option;
}

template <class T>
const optctx_option& find_option_as(const optctx_image& image, std::string_view name) {
    const optctx_option& option = find_option(image, name);
    check_type<T>(option);
    return option;
}

class Reading {
public:
    Reading(const optctx_context* context, const optctx_option& option)
        : status_(interface().read(context, &option, &value_, &error_)) {}
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;
    ~Reading() { interface().release_value(&value_); }

    const optctx_value& value() const {
        if (status_ != OPTCTX_OK) fail_with(status_, error_);
        return value_;
    }

private:
    optctx_value value_{};
    optctx_error error_;
    std::int32_t status_;
};

}  // namespace detail

template <class T>
class Option;
class OptionContext;
class Scope;
class Setting;

// A library with an LLVM in it, to which Python code has attached optctx. Valid until the process ends.
class Image {
public:
    // Returns llvmlite's LLVM. Throws Unavailable.
    static Image of_llvmlite() { return Image(detail::find_image(nullptr)); }
    // Returns the image with code at this address, such as that of an LLVM function that the caller uses. Throws
    // Unavailable.
    static Image at(const void* address) { return Image(detail::find_image(address)); }

    const char* path() const noexcept { return image_->path; }
    // Returns hexadecimal digits; nothing if the library has no build id.
    const char* build_id() const noexcept { return image_->build_id; }

    friend bool operator==(Image a, Image b) noexcept { return a.image_ == b.image_; }
    friend bool operator!=(Image a, Image b) noexcept { return a.image_ != b.image_; }

private:
    explicit Image(const optctx_image& image) noexcept : image_(&image) {}

    friend class OptionContext;
    friend class Scope;
    friend OptionContext current(Image image);
    friend std::optional<OptionContext> bound(Image image, const void* llvm_context);

    const optctx_image* image_;
};

// A full set of option values of an image. Copies share it. It may outlive its scope and the Python object.
//
// Look an option up by its name or an alias, without leading dashes, as one of these types:
//   bool                       bool
//   std::optional<bool>        boolOrDefault; nullopt if it is unset
//   an integer type            an integer option, if the type holds all of its values; an enum as LLVM stores it
//   float, double, char        the same type; double also reads a float
//   std::string                a string; the name of an enum's choice, TypeMismatch if it holds none of its choices
//   std::optional<std::string> the name of an enum's choice; nullopt if it holds none of its choices
//   an enum type               an enum or boolOrDefault of the same size, such as LLVM's own type
//   std::vector of these       a list; the choices set in bits, or their numbers
// The values equal those of the Python OptionContext. An option that cannot be set per thread has its process-wide
// value in every context.
class OptionContext {
public:
    OptionContext(const OptionContext& other) noexcept : image_(other.image_), context_(other.context_) {
        detail::interface().retain(context_);
    }
    OptionContext& operator=(const OptionContext& other) noexcept {
        detail::interface().retain(other.context_);
        detail::interface().release(context_);
        image_ = other.image_;
        context_ = other.context_;
        return *this;
    }
    ~OptionContext() { detail::interface().release(context_); }

    Image image() const noexcept { return Image(*image_); }

    // Throws UnknownOption and TypeMismatch.
    template <class T>
    T get(std::string_view name) const {
        return read<T>(detail::find_option_as<T>(*image_, name));
    }

    // Returns whether an option with that name exists. The answer is the same in every context of the image.
    bool contains(std::string_view name) const noexcept {
        const optctx_option* option = nullptr;
        return detail::interface().find(image_, name.data(), name.size(), &option, nullptr) == OPTCTX_OK;
    }

    // Returns how many times the option was given in this context; 0 if it has its default. Throws UnknownOption.
    unsigned occurrences(std::string_view name) const {
        std::uint32_t count = 0;
        optctx_error error;
        const optctx_option& option = detail::find_option(*image_, name);
        const std::int32_t status = detail::interface().occurrences(context_, &option, &count, &error);
        if (status != OPTCTX_OK) detail::fail_with(status, error);
        return count;
    }

    // Returns a context with the values of this one and the settings on top; of a context that is `process_wide()`,
    // with the process-wide values of this moment. LLVM's own parsers judge the values. Throws UnknownOption,
    // TypeMismatch, InvalidValue and ProcessWideOption, with nothing changed. Defined in <optctx/scope.hpp>.
    OptionContext with(std::initializer_list<Setting> settings) const;
    OptionContext with(const std::vector<Setting>& settings) const;

    // True outside any scope: every lookup then reads LLVM's own storage. As in LLVM itself, such a read is not
    // synchronised with a thread that changes options process-wide.
    bool process_wide() const noexcept { return context_ == nullptr; }

private:
    OptionContext(const optctx_image* image, const optctx_context* context) noexcept
        : image_(image), context_(context) {}

    template <class T>
    T read(const optctx_option& option) const {
        return detail::convert<T>(option, detail::Reading(context_, option).value());
    }

    OptionContext with(const Setting* settings, std::size_t count) const;

    template <class T>
    friend class Option;
    friend class Scope;
    friend OptionContext current(Image image);
    friend std::optional<OptionContext> bound(Image image, const void* llvm_context);

    const optctx_image* image_;
    const optctx_context* context_;
};

// Returns the context of this thread's innermost scope of the image, or its process-wide values outside such scopes.
// Throws Unavailable.
inline OptionContext current(Image image) {
    const optctx_context* context = nullptr;
    optctx_error error;
    const std::int32_t status = detail::interface().current(image.image_, &context, &error);
    if (status != OPTCTX_OK) detail::fail_with(status, error);
    return OptionContext(image.image_, context);
}
inline OptionContext current() { return current(Image::of_llvmlite()); }

// Returns the context that is bound to the image's llvm::LLVMContext at this address, or nullopt. Throws Unavailable.
inline std::optional<OptionContext> bound(Image image, const void* llvm_context) {
    const optctx_context* context = nullptr;
    optctx_error error;
    const std::int32_t status = detail::interface().bound(image.image_, llvm_context, &context, &error);
    if (status == OPTCTX_NOT_BOUND) return std::nullopt;
    if (status != OPTCTX_OK) detail::fail_with(status, error);
    return OptionContext(image.image_, context);
}
inline std::optional<OptionContext> bound(const void* llvm_context) {
    return bound(Image::of_llvmlite(), llvm_context);
}

// Like `bound`, but throws NotBound if the LLVMContext is not bound. The equivalent of Python's lookup(name,
// llvm_context=...) is bound(llvm_context).value_or(current()).
inline OptionContext of(Image image, const void* llvm_context) {
    if (std::optional<OptionContext> found = bound(image, llvm_context)) return *found;
    detail::fail<NotBound>("no OptionContext is bound to this LLVMContext");
}

inline OptionContext of(const void* llvm_context) { return of(Image::of_llvmlite(), llvm_context); }

// An option for frequent lookups. The first `get` resolves the name and checks the type. A later one does so again if
// its context is of another image than before.
//
//   static const optctx::Option<unsigned> unroll_count{"unroll-count"};
//   unroll_count.get(context);
template <class T>
class Option {
public:
    // `name` must outlive this object; pass a string literal.
    explicit constexpr Option(std::string_view name) noexcept : name_(name) {}
    Option(const Option&) = delete;
    Option& operator=(const Option&) = delete;

    // Throws UnknownOption and TypeMismatch.
    T get(const OptionContext& context) const {
        const optctx_option* option = option_.load(std::memory_order_acquire);
        if (option == nullptr || option->image != context.image_) {
            option = &detail::find_option_as<T>(*context.image_, name_);
            option_.store(option, std::memory_order_release);
        }
        return context.read<T>(*option);
    }
    // Reads the value that this thread sees in llvmlite's LLVM.
    T get() const { return get(current()); }

private:
    std::string_view name_;
    mutable std::atomic<const optctx_option*> option_{nullptr};
};

}  // namespace v2
}  // namespace optctx
