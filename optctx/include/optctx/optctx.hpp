// Look up LLVM's options and set them for a block of code, on one thread, from C++ code in the same process as optctx.
//
//   #include <optctx/optctx.hpp>
//
//   {
//       optctx::Scope scope{{"unroll-count", 4}, {"enable-gvn-hoist", true}};
//       run_passes();                                  // LLVM reads these values on this thread
//       optctx::get<unsigned>("unroll-count");         // 4
//   }                                                  // and those from before again, also after an exception
//
// Self-contained: needs C++17, no LLVM headers, and no library (except -ldl before glibc 2.34). The first call finds
// the extension module among the libraries of the process. Python code must have attached optctx by then; any use of
// optctx attaches it. All functions may be called from any thread, with or without the GIL, and never wait for it.
#pragma once

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "optctx/interface.h"

namespace optctx {
inline namespace v3 {

// Every error; `status` says which, and what() what to do. Nothing was changed. Catch it in functions that C or Python
// calls: an exception that leaves one ends the process. examples/cpp shows how. With -fno-exceptions, a failing call
// prints the message to standard error and aborts the process.
struct [[gnu::visibility("default")]] Error : std::runtime_error {
    Error(optctx_status why, const std::string& message) : std::runtime_error(message), status(why) {}
    optctx_status status;
};

// An LLVM of this process: the one with code at this address, such as that of a function that the caller uses. By
// default llvmlite's.
struct Image {
    const void* code = nullptr;
};

namespace detail {

[[noreturn]] inline void fail(optctx_status status, const std::string& message) {
#if defined(__cpp_exceptions)
    throw Error(status, message);
#else
    static_cast<void>(status);
    std::fprintf(stderr, "optctx: %s\n", message.c_str());
    std::abort();
#endif
}

template <class... Parameters, class... Arguments>
void call(std::int32_t (*function)(Parameters...), Arguments... arguments) {
    optctx_error error;
    const std::int32_t status = function(arguments..., &error);
    if (status != OPTCTX_OK) fail(static_cast<optctx_status>(status), error.message);
}

inline std::vector<std::string> loaded_libraries() {
    std::vector<std::string> paths;
    const auto add = [](dl_phdr_info* library, std::size_t, void* found) {
        // The program itself has an empty name. The vDSO has a name but no file, so dlopen fails for it.
        if (library->dlpi_name != nullptr && library->dlpi_name[0] != '\0')
            static_cast<std::vector<std::string>*>(found)->emplace_back(library->dlpi_name);
        return 0;
    };
    dl_iterate_phdr(add, &paths);
    return paths;
}

inline const optctx_interface* find_interface() {
    using Find = const optctx_interface* (*)(std::uint32_t);
    const char* missing = "optctx is not loaded in this process: import it in Python and use it once before";
    for (const std::string& path : loaded_libraries()) {
        void* const library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
        if (library == nullptr) continue;
        if (void* const symbol = dlsym(library, OPTCTX_INTERFACE_SYMBOL)) {
            // Keep the handle, so that the module stays loaded.
            if (const auto* found = reinterpret_cast<Find>(symbol)(OPTCTX_INTERFACE_VERSION)) return found;
            missing =
                "the optctx of this process does not have version 3 of its C++ interface, as this code was compiled "
                "for it: compile against the header that the installed optctx brings (optctx.get_include())";
        }
        dlclose(library);
    }
    fail(OPTCTX_UNAVAILABLE, missing);
}

// Found once. While it is missing, every call searches again.
inline const optctx_interface& interface() {
    static const optctx_interface* const found = find_interface();
    return *found;
}

template <class T, class... Others>
constexpr bool is_one_of = (std::is_same_v<T, Others> || ...);
template <class T>
constexpr bool is_number = std::is_integral_v<T> && !is_one_of<T, bool, char, wchar_t, char16_t, char32_t>;

// Whether a T can hold the value; but for the name of an enum's choice, whatever the value is.
template <class T>
bool holds(const optctx_value& value) {
    const std::uint32_t kind = value.kind;
    if constexpr (is_one_of<T, bool>) return kind == OPTCTX_BOOL;
    if constexpr (is_one_of<T, std::optional<bool>>) return kind == OPTCTX_BOOL_OR_DEFAULT;
    if constexpr (is_one_of<T, float>) return kind == OPTCTX_FLOAT;
    if constexpr (is_one_of<T, double>) return kind == OPTCTX_FLOAT || kind == OPTCTX_DOUBLE;
    if constexpr (is_one_of<T, std::optional<std::string>>) return kind == OPTCTX_ENUM;
    if constexpr (is_one_of<T, std::string>)
        return (kind == OPTCTX_ENUM || kind == OPTCTX_STRING) && value.text != nullptr;
    if constexpr (is_number<T>) {
        if (kind < OPTCTX_INT32 || kind > OPTCTX_UINT64) return false;
        const bool is_signed = kind == OPTCTX_INT32 || kind == OPTCTX_INT64;
        const std::size_t size = kind == OPTCTX_INT32 || kind == OPTCTX_UINT32 ? 4 : 8;
        return is_signed == std::is_signed_v<T> ? sizeof(T) >= size : !is_signed && sizeof(T) > size;
    }
}

template <class T>
T convert(const optctx_value& value) {
    if constexpr (is_one_of<T, bool>) return value.bits != 0;
    if constexpr (is_one_of<T, std::optional<bool>>) return value.bits == 0 ? std::nullopt : T(value.bits == 1);
    if constexpr (is_one_of<T, float, double>) return static_cast<T>(value.real);
    if constexpr (is_one_of<T, std::string>) return std::string(value.text, value.length);
    if constexpr (is_one_of<T, std::optional<std::string>>)
        return value.text == nullptr ? std::nullopt : T(std::in_place, value.text, value.length);
    if constexpr (is_number<T>) return static_cast<T>(value.bits);
}

template <class T>
struct Found {
    std::optional<T> value;  // none if it has another type
    std::uint32_t kind = 0;
};

template <class T>
void take(void* to, const optctx_value* value) noexcept {
    auto& found = *static_cast<Found<T>*>(to);
    found.kind = value->kind;
    if (holds<T>(*value)) found.value.emplace(convert<T>(*value));
}

[[noreturn]] inline void fail_for_type(std::string_view name, std::uint32_t kind) {
    constexpr const char* fitting[] = {"bool",
                                       "std::optional<bool>",
                                       "int",
                                       "unsigned",
                                       "std::int64_t",
                                       "std::uint64_t",
                                       "float",
                                       "double",
                                       "",
                                       "std::string",
                                       "std::optional<std::string>"};
    fail(OPTCTX_OTHER_TYPE,
         "cannot look up '" + std::string(name) + "' as this C++ type: look it up as " + fitting[kind]);
}

template <class T>
std::string text_of(const T& value) {
    if constexpr (std::is_convertible_v<const T&, std::string_view>) {
        return std::string(static_cast<std::string_view>(value));
    } else if constexpr (is_one_of<T, float, double>) {
        char digits[40];
        const int length = std::snprintf(digits, sizeof digits, "%.17g", static_cast<double>(value));
        std::replace(digits, digits + length, ',', '.');  // of a locale
        return digits;
    } else {
        static_assert(is_number<T> || is_one_of<T, bool>, "set an option to a value of a type that Setting lists");
        if (is_one_of<T, bool>) return value ? "true" : "false";
        return std::to_string(value);
    }
}

}  // namespace detail

// Returns the value that this thread sees: of its innermost scope, or else of the process. Looks the option up by its
// name or an alias, without leading dashes, as one of these types, of which none loses a part of a value:
//   bool                       bool
//   std::optional<bool>        boolOrDefault; nullopt if it is unset
//   an integer type            an integer option, if the type holds all of its values
//   float, double              the same type; double also reads a float
//   std::string                a string; the name of an enum's choice, an error if it holds none of its choices
//   std::optional<std::string> the name of an enum's choice; nullopt if it holds none of its choices
// Lists are for Python to read. The values equal those of Python's `optctx.current()`. An option that cannot be set per
// thread has its process-wide value everywhere; as in LLVM itself, such a read is not synchronised with a thread that
// changes it.
template <class T>
T get(std::string_view name, Image image = {}) {
    static_assert(
        detail::is_number<T> ||
            detail::is_one_of<T, bool, float, double, std::string, std::optional<bool>, std::optional<std::string>>,
        "look an option up as one of the types that optctx::get lists");
    detail::Found<T> found;
    detail::call(detail::interface().read, image.code, name.data(), name.size(), &detail::take<T>, &found);
    if (!found.value) detail::fail_for_type(name, found.kind);
    return *std::move(found.value);
}

// A value for an option, by its name or an alias, without leading dashes: a text, as in -name=text; or a bool, an
// integer, a float or a double, whose text LLVM's parser judges like any other. Each one for a list adds to it.
class Setting {
public:
    template <class T>
    Setting(std::string_view name, const T& value) : argument_(std::string(name) + '=' + detail::text_of(value)) {
        if (argument_.find('\0') != std::string::npos)
            detail::fail(OPTCTX_BAD_VALUE, "cannot set '" + std::string(name) + "': the text contains NUL");
    }

private:
    friend class OptionContext;

    std::string argument_;
};

// A prepared set of option values: what the thread that makes it sees at that moment, with the settings on top.
// Preparing one takes a hundred times as long as entering it. Copies share it, on any thread. Throws if LLVM refuses a
// value or if an option cannot be set for one thread.
class OptionContext {
public:
    explicit OptionContext(const std::vector<Setting>& settings, Image image = {}) {
        std::vector<const char*> arguments;
        for (const Setting& setting : settings) arguments.push_back(setting.argument_.c_str());
        const optctx_context* made = nullptr;
        detail::call(detail::interface().prepare, image.code, arguments.data(), arguments.size(), &made);
        context_ = {made, detail::interface().release};
    }
    OptionContext(std::initializer_list<Setting> settings, Image image = {})
        : OptionContext(std::vector<Setting>(settings), image) {}

private:
    friend class Scope;

    std::shared_ptr<const optctx_context> context_;
};

// While it lives, LLVM sees the values on the thread that made it, unless another scope was entered after it. Scopes
// nest, and nest with Python's `with OptionContext(...)` on the same thread: an inner one starts from the values of the
// one around it. Neither the threads that code inside starts nor Python's tasks take it along.
//
// Make and destroy it on the same thread. Elsewhere its end prints to standard error that it cannot leave, and the
// thread of the scope stays inside until it ends.
class [[nodiscard]] Scope {
public:
    Scope(std::initializer_list<Setting> settings, Image image = {}) : Scope(OptionContext(settings, image)) {}
    // Also throws if optctx has detached from the LLVM, or if the thread or the interpreter is ending.
    explicit Scope(const OptionContext& context) {
        detail::call(detail::interface().enter, context.context_.get(), &scope_);
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() {
        optctx_error error;
        if (detail::interface().leave(scope_, &error) != OPTCTX_OK) std::fprintf(stderr, "optctx: %s\n", error.message);
    }

private:
    optctx_scope scope_{};
};

}  // namespace v3
}  // namespace optctx
