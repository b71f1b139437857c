// Every kind of lookup as text, for tests/native/interface/test_cpp_lookups.py; loaded with ctypes.
#include <optctx/optctx.hpp>

#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <string>

namespace {

std::string text_of(bool value) { return value ? "True" : "False"; }
std::string text_of(double value) {
    char text[64];
    std::snprintf(text, sizeof text, "%a", value);
    return text;
}
std::string text_of(const std::string& value) { return value; }
template <class T>
std::enable_if_t<optctx::detail::is_number<T>, std::string> text_of(T value) {
    return std::to_string(value);
}
template <class T>
std::string text_of(const std::optional<T>& value) {
    return value ? text_of(*value) : "None";
}

using Look = std::string (*)(const char*);
template <class T>
std::string look(const char* name) {
    return text_of(optctx::get<T>(name));
}
// By its C++ type.
const std::map<std::string, Look> looks{
    {"bool", look<bool>},
    {"std::optional<bool>", look<std::optional<bool>>},
    {"int", look<int>},
    {"unsigned", look<unsigned>},
    {"std::int64_t", look<std::int64_t>},
    {"std::uint64_t", look<std::uint64_t>},
    {"float", look<float>},
    {"double", look<double>},
    {"std::string", look<std::string>},
    {"std::optional<std::string>", look<std::optional<std::string>>},
};

std::optional<optctx::OptionContext> kept;
thread_local std::string said;

// Runs `work`, which gives a text; otherwise the status of the error and its message.
template <class Work>
const char* told(Work&& work) {
    try {
        said = "=" + work();
    } catch (const optctx::Error& error) {
        said = std::to_string(error.status) + ": " + error.what();
    }
    return said.c_str();
}

}  // namespace

extern "C" {

const char* look_up(const char* name, const char* type) {
    return told([&] { return looks.at(type)(name); });
}
// The same in the image with code at an address.
const char* look_up_at(const void* address, const char* name) {
    return told([&] { return text_of(optctx::get<unsigned>(name, optctx::Image{address})); });
}
// And in a scope of that image.
const char* look_up_in_scope_at(const void* address, const char* name) {
    return told([&] {
        const optctx::Image image{address};
        const optctx::Scope scope({{name, 6}}, image);
        return text_of(optctx::get<unsigned>(name, image)) + " " + text_of(optctx::get<unsigned>(name));
    });
}

// Takes what this thread sees.
void keep() { kept = optctx::OptionContext({}); }
void drop() { kept.reset(); }
const char* look_up_kept(const char* name, const char* type) {
    const optctx::Scope scope(kept.value());
    return told([&] { return looks.at(type)(name); });
}
}
