// A C++ runtime that a process has before libstdc++, as libc++abi can be: it cannot catch what libstdc++ throws, and
// ends the process. Its operator new and delete are its own, too: what malloc gave, delete refuses.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

constexpr std::uint64_t mark = 0x6F70746374783139;
constexpr std::size_t head = 16;

[[noreturn]] void end(const char* what) {
    const char words[] = "terminating: the other runtime was asked for ";
    (void)!write(2, words, sizeof words - 1);
    (void)!write(2, what, std::strlen(what));
    (void)!write(2, "\n", 1);
    _exit(134);
}

}  // namespace

#define ENDS(name)                                 \
    extern "C" void other_##name() __asm__(#name); \
    extern "C" void other_##name() { end(#name); }

ENDS(__cxa_allocate_exception)
ENDS(__cxa_throw)
ENDS(__cxa_rethrow)
ENDS(__cxa_begin_catch)
ENDS(__cxa_end_catch)
ENDS(__gxx_personality_v0)
ENDS(_ZSt9terminatev)
ENDS(_ZSt20__throw_length_errorPKc)
ENDS(_ZSt20__throw_out_of_rangePKc)
ENDS(_ZSt24__throw_out_of_range_fmtPKcz)
ENDS(_ZNSt13runtime_errorC1ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE)
ENDS(_ZNSt13runtime_errorC2ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE)

void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    auto* memory = static_cast<unsigned char*>(std::malloc(size + head));
    if (memory == nullptr) return nullptr;
    std::memcpy(memory, &mark, sizeof mark);
    return memory + head;
}

void* operator new(std::size_t size) {
    void* memory = operator new(size, std::nothrow);
    if (memory == nullptr) end("memory");
    return memory;
}

void operator delete(void* memory) noexcept {
    if (memory == nullptr) return;
    auto* begin = static_cast<unsigned char*>(memory) - head;
    std::uint64_t found = 0;
    std::memcpy(&found, begin, sizeof found);
    if (found != mark) end("memory that it did not give");
    std::free(begin);
}

void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { operator delete(memory); }
