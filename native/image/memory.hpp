// Reads memory whose layout is still in doubt: every pointer may be wild, every count and length too large. Nothing
// here faults, and nothing is allocated by a number that was read before that number is checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace optctx::image {

// The library is not laid out as it is taken to be; the message says what does not fit.
struct Misfit : std::runtime_error {
    using std::runtime_error::runtime_error;
};

constexpr std::size_t longest_text = 1 << 16;  // bytes; LLVM 22's longest help text has 758
constexpr std::size_t most_bytes = 1 << 24;    // that one read copies

// Throws Misfit if any byte cannot be read; `what` is what the bytes are taken for.
void load_bytes(std::uintptr_t address, void* to, std::size_t size, const char* what);
std::vector<std::uint8_t> load_bytes(std::uintptr_t address, std::size_t size, const char* what);

template <class T>
T load(std::uintptr_t address, const char* what) {
    T value;
    load_bytes(address, &value, sizeof value, what);
    return value;
}

// Throws Misfit if it is longer than `most` bytes, cannot be read, or is not UTF-8 without control characters other
// than tabs and line ends.
std::string load_text(std::uintptr_t address, std::size_t size, const char* what, std::size_t most = longest_text);

// Memory as it was when it was first looked at: reads each page once. For thousands of small objects that lie together.
class Snapshot {
public:
    // As the functions of these names.
    void load_bytes(std::uintptr_t address, void* to, std::size_t size, const char* what);
    std::vector<std::uint8_t> load_bytes(std::uintptr_t address, std::size_t size, const char* what);
    template <class T>
    T load(std::uintptr_t address, const char* what) {
        T value;
        load_bytes(address, &value, sizeof value, what);
        return value;
    }
    std::string load_text(std::uintptr_t address, std::size_t size, const char* what, std::size_t most = longest_text);

private:
    using Page = std::vector<std::uint8_t>;
    const Page* page_at(std::uintptr_t begin);  // nullptr for one that cannot be read

    std::unordered_map<std::uintptr_t, Page> pages_;
    std::uintptr_t last_begin_ = 0;
    const Page* last_ = nullptr;
};

}  // namespace optctx::image
