// Defines the C++ types in which an option can be set, and writes their values as LLVM's command line takes them. Part
// of <optctx/scope.hpp>.
#pragma once

#include <cstdio>
#include <string>
#include <type_traits>
#include <vector>

#include "optctx/detail/convert.hpp"
#include "optctx/errors.hpp"
#include "optctx/interface.h"

namespace optctx {
inline namespace v2 {
namespace detail {

// `fits` returns whether a T can be given to an option stored that way: no T loses anything there, and LLVM's parser
// refuses an integer that is out of range. `text` writes a value.
template <class T, class = void>
struct Given {
    static_assert(!std::is_same_v<T, T>,
                  "an option is set as bool, an integer, float, double, char, std::string, or a std::vector of one of "
                  "them; as text it is {name, text}");
};

template <>
struct Given<bool> {
    static bool fits(Stored stored) { return stored.kind == OPTCTX_BOOL || stored.kind == OPTCTX_BOOL_OR_DEFAULT; }
    static std::string text(bool value) { return value ? "true" : "false"; }
};

template <class T>
struct Given<T, std::enable_if_t<is_number_v<T>>> {
    static bool fits(Stored stored) { return stored.kind >= OPTCTX_INT32 && stored.kind <= OPTCTX_UINT64; }
    static std::string text(T value) { return std::to_string(value); }
};

template <class T>
struct Given<T, std::enable_if_t<std::is_floating_point_v<T> && sizeof(T) <= sizeof(double)>> {
    static bool fits(Stored stored) {
        return stored.kind == OPTCTX_DOUBLE || (stored.kind == OPTCTX_FLOAT && sizeof(T) == sizeof(float));
    }
    static std::string text(T value) {
        char digits[40];
        const int length = std::snprintf(digits, sizeof digits, "%.17g", static_cast<double>(value));
        for (int i = 0; i < length; ++i)
            if (digits[i] == ',') digits[i] = '.';  // of a locale
        return digits;
    }
};

template <>
struct Given<char> {
    static bool fits(Stored stored) { return stored.kind == OPTCTX_CHAR; }
    static std::string text(char value) { return std::string(1, value); }
};

// The name of an enum's choice or of a bit, too.
template <>
struct Given<std::string> {
    static bool fits(Stored stored) { return stored.kind == OPTCTX_STRING || stored.kind == OPTCTX_ENUM; }
    static const std::string& text(const std::string& value) { return value; }
};

// Throws TypeMismatch if the option does not take a T.
template <class T>
void check_settable(const optctx_option& option) {
    const bool several = option.kind == OPTCTX_LIST || option.kind == OPTCTX_BITS;
    const Stored stored{option.element, option.size};
    bool fits = false;
    if constexpr (is_vector<T>::value)
        fits = several && Given<typename is_vector<T>::Element>::fits(stored);
    else
        fits = !several && Given<T>::fits(stored);
    if (!fits)
        fail<TypeMismatch>("cannot set '" + std::string(option.name) + "' to a value of type " + As<T>::name() +
                           ": the option is of type " + option.type);
}

template <class T>
std::vector<std::string> texts_of(const T& value) {
    if constexpr (is_vector<T>::value) {
        std::vector<std::string> texts;
        for (const auto& each : value) texts.push_back(Given<typename is_vector<T>::Element>::text(each));
        return texts;
    } else {
        return {Given<T>::text(value)};
    }
}

}  // namespace detail
}  // namespace v2
}  // namespace optctx
