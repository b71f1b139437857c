// Debug output (llvm/Support/Debug.h) of an LLVM with assertions; with LEVELS, as since LLVM 22.
// A part of small_llvm.cpp.
#pragma once

#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace llvm {

extern bool DebugFlag;
bool DebugFlag = false;
template <class T>
struct object_deleter {
    static void call(void* object) { delete static_cast<T*>(object); }
};
template <class T>
struct ManagedStatic {
    T* object;
    void (*deleter)(void*);
    [[maybe_unused]] const void* next;
    T& get() {
        if (object == nullptr) {
            object = new T;
            deleter = object_deleter<T>::call;
        }
        return *object;
    }
};

#ifdef LEVELS
using DebugType = std::pair<std::string, std::optional<int>>;
static DebugType type_of(const std::string& text) {
    const std::size_t at = text.find(':');
    if (at == text.npos) return {text, std::nullopt};
    return {text.substr(0, at), std::stoi(text.substr(at + 1))};
}
static bool matches(const DebugType& type, const char* name, int level) {
    return type.first == name && (!type.second || level <= *type.second);
}
#define LEVEL , int level
#define OF_LEVEL , level
#else
using DebugType = std::string;
static DebugType type_of(const std::string& text) { return text; }
static bool matches(const DebugType& type, const char* name, int) { return type == name; }
#define LEVEL
#define OF_LEVEL
constexpr int level = 0;
#endif
static ManagedStatic<std::vector<DebugType>> CurrentDebugType;

bool isCurrentDebugType(const char* name LEVEL);
[[gnu::noinline]] bool isCurrentDebugType(const char* name LEVEL) {
    const auto& types = CurrentDebugType.get();
    for (const DebugType& type : types)
        if (matches(type, name, level)) return true;
    return types.empty();
}

}  // namespace llvm
namespace {
struct DebugOnlyOpt {};
}  // namespace
template <>
struct cl::OptionValue<DebugOnlyOpt> : cl::NoOptionValue {};
template <>
bool cl::opt<DebugOnlyOpt, true, cl::parser<Text>>::handleOccurrence(unsigned, StringRef, StringRef text) {
    DebugFlag = true;
    std::istringstream given(text.str());
    for (std::string each; std::getline(given, each, ',');) CurrentDebugType.get().push_back(type_of(each));
    return false;
}
static DebugOnlyOpt DebugOnlyLocation;
static bool OwnFlag;
static cl::opt<bool, true> Flag("own-flag", OwnFlag);
[[maybe_unused]] static const auto* Debug = new cl::opt<bool, true>("debug", DebugFlag);
static auto* DebugOnly = new cl::opt<DebugOnlyOpt, true, cl::parser<Text>>("debug-only", DebugOnlyLocation);

extern "C" void debug(const char* type, [[maybe_unused]] int level, const char* text) {
    if (DebugFlag && isCurrentDebugType(type OF_LEVEL)) errs().write(text, std::strlen(text));
}
// Through the table of virtual functions, as LLVM's parser.
extern "C" void set_debug_only(const char* text) {
    cl::Option* volatile option = DebugOnly;
    option->addOccurrence(1, {"debug-only", 10}, {text, std::strlen(text)}, false);
}
