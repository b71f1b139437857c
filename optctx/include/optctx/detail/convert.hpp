// Defines the C++ types in which an option can be looked up, and converts its value to them. Part of
// <optctx/option_context.hpp>.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "optctx/errors.hpp"
#include "optctx/interface.h"

namespace optctx {
inline namespace v2 {
namespace detail {

// How LLVM stores an option, or one element of it.
struct Stored {
    std::uint32_t kind;
    std::uint32_t size;  // bytes
};

template <class T>
constexpr bool is_number_v =
    std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, char> && !std::is_same_v<T, wchar_t> &&
    !std::is_same_v<T, char16_t> && !std::is_same_v<T, char32_t>;

// `fits` returns whether T can hold every value stored that way, `take` converts one value to T, and `name` is T's name
// in messages.
template <class T, class = void>
struct As {
    static_assert(!std::is_same_v<T, T>,
                  "an option is looked up as bool, an integer, float, double, char, an enum, std::string, "
                  "std::optional<bool>, std::optional<std::string>, or a std::vector of one of them");
};

template <>
struct As<bool> {
    static std::string name() { return "bool"; }
    static bool fits(Stored stored) { return stored.kind == OPTCTX_BOOL; }
    static bool take(const optctx_item& item, Stored, const char*) { return item.bits != 0; }
};

// cl::boolOrDefault: unset, true or false.
template <>
struct As<std::optional<bool>> {
    static std::string name() { return "std::optional<bool>"; }
    static bool fits(Stored stored) { return stored.kind == OPTCTX_BOOL_OR_DEFAULT; }
    static std::optional<bool> take(const optctx_item& item, Stored, const char*) {
        if (item.bits == 0) return std::nullopt;
        return item.bits == 1;
    }
};

template <class T>
struct As<T, std::enable_if_t<is_number_v<T>>> {
    static std::string name() {
        if constexpr (sizeof(T) == sizeof(int)) return std::is_signed_v<T> ? "int" : "unsigned";
        return (std::is_signed_v<T> ? "std::int" : "std::uint") + std::to_string(8 * sizeof(T)) + "_t";
    }
    static bool fits(Stored stored) {
        switch (stored.kind) {
            case OPTCTX_INT32:
            case OPTCTX_INT64:
                return std::is_signed_v<T> && sizeof(T) >= stored.size;
            case OPTCTX_UINT32:
            case OPTCTX_UINT64:
                return sizeof(T) > stored.size || (sizeof(T) == stored.size && !std::is_signed_v<T>);
            case OPTCTX_ENUM:
                return sizeof(T) >= stored.size;
            default:
                return false;
        }
    }
    static T take(const optctx_item& item, Stored stored, const char*) {
        // LLVM's storage of an enum has no sign; the type of the lookup decides.
        if (stored.kind == OPTCTX_ENUM && std::is_signed_v<T> && stored.size < sizeof item.bits) {
            const auto unused = static_cast<unsigned>(8 * (sizeof item.bits - stored.size));
            return static_cast<T>(static_cast<std::int64_t>(item.bits << unused) >> unused);
        }
        return static_cast<T>(item.bits);
    }
};

template <class T>
struct As<T, std::enable_if_t<std::is_enum_v<T>>> {
    static std::string name() { return "an enum of " + std::to_string(sizeof(T)) + " bytes"; }
    static bool fits(Stored stored) {
        return (stored.kind == OPTCTX_ENUM || stored.kind == OPTCTX_BOOL_OR_DEFAULT) && sizeof(T) == stored.size;
    }
    static T take(const optctx_item& item, Stored, const char*) {
        return static_cast<T>(static_cast<std::underlying_type_t<T>>(item.bits));
    }
};

template <>
struct As<float> {
    static std::string name() { return "float"; }
    static bool fits(Stored stored) { return stored.kind == OPTCTX_FLOAT; }
    static float take(const optctx_item& item, Stored, const char*) { return static_cast<float>(item.real); }
};

template <>
struct As<double> {
    static std::string name() { return "double"; }
    static bool fits(Stored stored) { return stored.kind == OPTCTX_FLOAT || stored.kind == OPTCTX_DOUBLE; }
    static double take(const optctx_item& item, Stored, const char*) { return item.real; }
};

template <>
struct As<char> {
    static std::string name() { return "char"; }
    static bool fits(Stored stored) { return stored.kind == OPTCTX_CHAR; }
    static char take(const optctx_item& item, Stored, const char*) { return static_cast<char>(item.bits); }
};

// The name of an enum's choice; nullopt if the enum holds none of its choices.
template <>
struct As<std::optional<std::string>> {
    static std::string name() { return "std::optional<std::string>"; }
    static bool fits(Stored stored) { return stored.kind == OPTCTX_ENUM; }
    static std::optional<std::string> take(const optctx_item& item, Stored, const char*) {
        if (item.text == nullptr) return std::nullopt;
        return std::string(item.text, item.length);
    }
};

template <>
struct As<std::string> {
    static std::string name() { return "std::string"; }
    static bool fits(Stored stored) { return stored.kind == OPTCTX_STRING || stored.kind == OPTCTX_ENUM; }
    static std::string take(const optctx_item& item, Stored, const char* option) {
        if (item.text == nullptr)
            fail<TypeMismatch>("cannot look up '" + std::string(option) + "' as std::string: it holds " +
                               std::to_string(item.bits) +
                               ", which is none of its choices; look it up as std::optional<std::string>");
        return std::string(item.text, item.length);
    }
};

// A list, or the choices that bits hold.
template <class T>
struct As<std::vector<T>> {
    static std::string name() { return "std::vector<" + As<T>::name() + ">"; }
};

template <class T>
struct is_vector : std::false_type {};
template <class T>
struct is_vector<std::vector<T>> : std::true_type {
    using Element = T;
};

// Throws TypeMismatch if the option cannot be read as T.
template <class T>
void check_type(const optctx_option& option) {
    const bool several = option.kind == OPTCTX_LIST || option.kind == OPTCTX_BITS;
    const Stored stored{option.element, option.size};
    bool fits = false;
    if constexpr (is_vector<T>::value)
        fits = several && As<typename is_vector<T>::Element>::fits(stored);
    else
        fits = !several && As<T>::fits(stored);
    if (!fits)
        fail<TypeMismatch>("cannot look up '" + std::string(option.name) + "' as " + As<T>::name() +
                           ": the option is of type " + option.type);
}

template <class T>
T convert(const optctx_option& option, const optctx_value& value) {
    const Stored stored{option.element, option.size};
    if constexpr (is_vector<T>::value) {
        T all;
        for (std::size_t i = 0; i < value.count; ++i)
            all.push_back(As<typename is_vector<T>::Element>::take(value.items[i], stored, option.name));
        return all;
    } else {
        return As<T>::take(value.items[0], stored, option.name);
    }
}

}  // namespace detail
}  // namespace v2
}  // namespace optctx
