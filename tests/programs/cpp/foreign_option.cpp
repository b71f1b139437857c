// A library that registers a cl::opt<unsigned> of its own with the LLVM of this process, as a plugin does, and reads
// it. It is compiled without LLVM's headers: it copies one of LLVM's options and lets the copy lead to itself.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace {

constexpr std::size_t most = 1024;  // bytes of an option

alignas(16) unsigned char option[most];
std::size_t value_at;

template <class T>
void put(std::size_t at, T value) {
    std::memcpy(option + at, &value, sizeof value);
}

// Pointers into the object, such as that to the inline storage of a SmallVector, lead into the copy.
void copy(const void* model, std::size_t size) {
    std::memcpy(option, model, size);
    const auto from = reinterpret_cast<std::uintptr_t>(model);
    for (std::size_t at = 0; at + sizeof(std::uintptr_t) <= size; at += sizeof(std::uintptr_t)) {
        std::uintptr_t word;
        std::memcpy(&word, option + at, sizeof word);
        if (word - from < size) put(at, reinterpret_cast<std::uintptr_t>(option) + (word - from));
    }
}

}  // namespace

// `model`: an option of LLVM's own that was never given, `size` its bytes, `value` where its value is. `name` must
// outlive the option. `add`: llvm::cl::Option::addArgument.
extern "C" void register_option(const void* model, std::size_t size, std::size_t value, const char* name,
                                const char* help, unsigned initial, void (*add)(void*)) {
    if (size > most) return;
    copy(model, size);
    value_at = value;
    std::uint16_t bits;
    std::memcpy(&bits, option + 0x0A, sizeof bits);
    put(0x0A, static_cast<std::uint16_t>(bits & ~0x4000u));  // FullyInitialized: it is not registered yet
    put(0x10, name);
    put(0x18, std::strlen(name));
    put(0x20, help);
    put(0x28, std::strlen(help));
    put(value, initial);
    put(value + 16, initial);  // its default
    put(value + 20, true);     // which is there
    add(option);
}

// `remove`: llvm::cl::Option::removeArgument.
extern "C" void remove_option(void (*remove)(void*)) { remove(option); }

// What the code of this library reads, as `Option` converts to its value.
extern "C" unsigned read_option() {
    unsigned value;
    std::memcpy(&value, const_cast<const unsigned char*>(option + value_at), sizeof value);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return value;
}
