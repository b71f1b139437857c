// Every kind of lookup as text, for tests/native/interface/test_cpp_lookups.py; loaded with ctypes.
#include <optctx/option_context.hpp>

#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace {

enum class Four : std::uint32_t {};

std::string text_of(bool value) { return value ? "True" : "False"; }
std::string text_of(double value) {
    char text[64];
    std::snprintf(text, sizeof text, "%a", value);
    return text;
}
std::string text_of(char value) { return std::string(1, value); }
std::string text_of(const std::string& value) { return value; }
template <class T>
std::enable_if_t<optctx::detail::is_number_v<T>, std::string> text_of(T value) {
    return std::to_string(value);
}
std::string text_of(Four value) { return std::to_string(static_cast<std::uint32_t>(value)); }
template <class T>
std::string text_of(const std::optional<T>& value) {
    return value ? text_of(*value) : "None";
}
// Each element ends with the record separator.
template <class T>
std::string text_of(const std::vector<T>& values) {
    std::string text;
    for (std::size_t i = 0; i < values.size(); ++i) text += text_of(static_cast<T>(values[i])) + '\x1e';
    return text;
}

using Look = std::string (*)(const optctx::OptionContext&, const char*);
template <class T>
std::string look(const optctx::OptionContext& context, const char* name) {
    return text_of(context.get<T>(name));
}
// By its C++ type.
const std::map<std::string, Look> looks{
    {"bool", look<bool>},
    {"std::optional<bool>", look<std::optional<bool>>},
    {"short", look<short>},
    {"int", look<int>},
    {"unsigned", look<unsigned>},
    {"std::int64_t", look<std::int64_t>},
    {"std::uint64_t", look<std::uint64_t>},
    {"float", look<float>},
    {"double", look<double>},
    {"char", look<char>},
    {"Four", look<Four>},
    {"std::string", look<std::string>},
    {"std::optional<std::string>", look<std::optional<std::string>>},
    {"std::vector<bool>", look<std::vector<bool>>},
    {"std::vector<int>", look<std::vector<int>>},
    {"std::vector<unsigned>", look<std::vector<unsigned>>},
    {"std::vector<std::uint64_t>", look<std::vector<std::uint64_t>>},
    {"std::vector<Four>", look<std::vector<Four>>},
    {"std::vector<std::string>", look<std::vector<std::string>>},
    {"std::vector<std::optional<std::string>>", look<std::vector<std::optional<std::string>>>},
};

std::mutex mutex;
std::optional<optctx::OptionContext> kept;
thread_local std::string said;

// Runs `work`, which gives a text; the name of the exception and its message otherwise.
template <class Work>
const char* told(Work&& work) {
    try {
        said = "=" + work();
    } catch (const optctx::UnknownOption& error) {
        said = std::string("UnknownOption: ") + error.what();
    } catch (const optctx::TypeMismatch& error) {
        said = std::string("TypeMismatch: ") + error.what();
    } catch (const optctx::NotBound& error) {
        said = std::string("NotBound: ") + error.what();
    } catch (const optctx::Unavailable& error) {
        said = std::string("Unavailable: ") + error.what();
    }
    return said.c_str();
}

}  // namespace

extern "C" {

const char* look_up(const char* name, const char* type) {
    return told([&] { return looks.at(type)(optctx::current(), name); });
}
const char* look_up_of(const void* llvm_context, const char* name) {
    return told([&] { return text_of(optctx::of(llvm_context).get<unsigned>(name)); });
}
bool is_bound(const void* llvm_context) { return optctx::bound(llvm_context).has_value(); }
bool contains(const char* name) { return optctx::current().contains(name); }
bool is_process_wide() { return optctx::current().process_wide(); }
unsigned occurrences(const char* name) { return optctx::current().occurrences(name); }

// The same in the image with code at an address, by name and by an option that may be of another image.
const char* look_up_at(const void* address, const char* name) {
    static const optctx::Option<unsigned> resolved{"unroll-count"};
    return told([&] {
        const optctx::OptionContext context = optctx::current(optctx::Image::at(address));
        const unsigned value = context.get<unsigned>(name);
        if (std::string(name) == "unroll-count" && resolved.get(context) != value) return std::string("differs");
        return text_of(value);
    });
}
const char* path_at(const void* address) {
    return told([&] { return std::string(optctx::Image::at(address).path()); });
}
// An option of one image in a context of the other, through the C interface.
const char* mixed(const void* address, const void* other) {
    return told([&]() -> std::string {
        const optctx_interface& interface = optctx::detail::interface();
        const optctx_image *image = nullptr, *another = nullptr;
        const optctx_option* option = nullptr;
        const optctx_context* context = nullptr;
        optctx_error error{};
        optctx_value value{};
        std::uint32_t count = 0;
        interface.image(address, &image, &error);
        interface.image(other, &another, &error);
        interface.find(image, "unroll-count", 12, &option, &error);
        interface.current(another, &context, &error);
        const bool refused = interface.read(context, option, &value, &error) == OPTCTX_OTHER_IMAGE &&
                             interface.occurrences(context, option, &count, &error) == OPTCTX_OTHER_IMAGE;
        interface.release(context);
        return refused ? error.message : "not refused";
    });
}

// Takes what this thread is in as the context that all threads may look at.
void keep() {
    const optctx::OptionContext context = optctx::current();
    const std::lock_guard lock(mutex);
    kept = context;
}
void drop() {
    const std::lock_guard lock(mutex);
    kept.reset();
}
const char* look_up_kept(const char* name, const char* type) {
    const std::lock_guard lock(mutex);
    return told([&] { return looks.at(type)(kept.value(), name); });
}

// `times` lookups on this thread, by name and resolved before; how many did not give `expected`.
std::uint64_t wrong(unsigned expected, std::uint64_t times) {
    static const optctx::Option<unsigned> resolved{"unroll-count"};
    std::uint64_t count = 0;
    for (std::uint64_t i = 0; i < times; ++i) {
        const optctx::OptionContext context = optctx::current();
        count += context.get<unsigned>("unroll-count") != expected;
        count += resolved.get(context) != expected;
        count += resolved.get() != expected;
    }
    return count;
}

// Looks `times` times at whatever is kept; how often its two options, always set together, were different.
std::uint64_t torn(std::uint64_t times) {
    std::uint64_t count = 0;
    for (std::uint64_t i = 0; i < times; ++i) {
        std::optional<optctx::OptionContext> context;
        {
            const std::lock_guard lock(mutex);
            context = kept;
        }
        if (!context) continue;
        const unsigned number = context->get<unsigned>("unroll-count");
        count += std::to_string(number) != context->get<std::string>("cfg-func-name");
        count += number != context->get<unsigned>("unroll-max-count");
    }
    return count;
}
}
