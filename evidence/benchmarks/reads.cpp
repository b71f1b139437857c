// What one read of an option costs, for evidence/benchmarks/reads.py: built as a shared library with -fPIC, as LLVM's
// are, and loaded by a program. Every kind reads the same options in the same order. A read is in a function of its
// own, as in LLVM, where the compiler cannot keep an address from one read to the next; a call of an empty function is
// measured too.
#include <sys/mman.h>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>
#include <vector>

// Where the linker puts the section of that name.
extern "C" __attribute__((visibility("hidden"))) char __start_trampolines, __stop_trampolines;

namespace {

constexpr std::size_t options = 64;    // that are read; LLVM's -O3 reads 611 at 962 places
constexpr std::size_t libraries = 57;  // with options, in LLVM 22
constexpr std::size_t registered = 2596;
constexpr std::size_t spread = 37;  // registered ids of the options that are read are so far apart

// As a cl::opt<unsigned>: 192 bytes, the value at 0x80. `id` is given when the option is registered.
struct Option {
    std::uint32_t id;
    char before[0x7C];
    unsigned value;
    char after[60];
};
static_assert(offsetof(Option, value) == 0x80 && sizeof(Option) == 192);
Option storage[options];

struct Fields {
    unsigned values[registered / libraries + 1];
};
Fields defaults[libraries];

// The buckets of an llvm::DenseMap of pointers: an open-addressing table with quadratic probing.
struct Map {
    struct Bucket {
        const void* key;
        const void* value;
    };
    std::vector<Bucket> buckets;
    static std::size_t hash(const void* key) {
        const auto number = reinterpret_cast<std::uintptr_t>(key);
        return static_cast<unsigned>(number >> 4) ^ static_cast<unsigned>(number >> 9);
    }
    const Bucket& find(const void* key) const {
        const std::size_t mask = buckets.size() - 1;
        std::size_t at = hash(key) & mask;
        for (std::size_t step = 1; buckets[at].key != key && buckets[at].key != nullptr; ++step)
            at = (at + step) & mask;
        return buckets[at];
    }
};

struct Context {
    std::vector<unsigned> table;  // by id
    std::array<Fields, libraries> fields;
    Map map;  // library -> its fields
    std::array<void*, registered> view;
};
Context context;

__attribute__((tls_model("initial-exec"))) thread_local const Context* current_initial_exec = nullptr;
__attribute__((tls_model("initial-exec"), used)) thread_local void** current_view = nullptr;
// Visible, so that neither the compiler nor the linker can use another model.
}  // namespace
__attribute__((visibility("default"), tls_model("global-dynamic"))) thread_local const void* optctx_current_dynamic =
    nullptr;
namespace {

using Read = unsigned (*)(const Context&);

template <std::size_t I>
__attribute__((noinline)) unsigned empty(const Context&) {
    asm volatile("");
    return 0;
}
template <std::size_t I>
__attribute__((noinline)) unsigned global(const Context&) {
    asm volatile("");
    return storage[I].value;
}
// The instruction of `global`, in the form that optctx gives it: a jump to a trampoline, and one back. `prepare` writes
// the offset of the thread's view into the trampolines, as optctx does.
constexpr std::int32_t placeholder = 0x5EA1F00D;
template <std::size_t I>
__attribute__((noinline)) unsigned redirected(const Context&) {
    unsigned value;
    asm volatile(
        "jmp 1f\n"
        "2:\n"
        ".pushsection trampolines,\"ax\",@progbits\n"
        "1: mov %%fs:%c[view], %%rax\n"
        "mov %c[word](%%rax), %%rax\n"
        "mov 0x80(%%rax), %[value]\n"
        "jmp 2b\n"
        ".popsection"
        : [value] "=a"(value)
        : [view] "i"(placeholder), [word] "i"(I * spread * sizeof(void*))
        : "memory");
    return value;
}
// A value table by the id that registration gave the option, in the context that the caller passes on.
template <std::size_t I>
__attribute__((noinline)) unsigned table(const Context& of) {
    asm volatile("");
    return of.table[storage[I].id];
}
// A struct for each library, found in the context by a hash of the library's address; its defaults if it has none.
template <std::size_t I>
__attribute__((noinline)) unsigned hash(const Context& of) {
    asm volatile("");
    const Fields& library = defaults[I % libraries];
    const void* found = of.map.find(&library).value;
    return (found != nullptr ? static_cast<const Fields*>(found) : &library)->values[I / libraries];
}
// A thread's context, or the global where it has none.
template <std::size_t I>
__attribute__((noinline)) unsigned initial_exec(const Context&) {
    asm volatile("");
    const Context* of = current_initial_exec;
    return of != nullptr ? of->table[storage[I].id] : storage[I].value;
}
template <std::size_t I>
__attribute__((noinline)) unsigned general_dynamic(const Context&) {
    asm volatile("");
    const auto* of = static_cast<const Context*>(optctx_current_dynamic);
    return of != nullptr ? of->table[storage[I].id] : storage[I].value;
}

#define KIND(name)                                                                \
    template <std::size_t... I>                                                   \
    constexpr std::array<Read, options> name##_reads(std::index_sequence<I...>) { \
        return {&name<I>...};                                                     \
    }
KIND(empty)
KIND(global)
KIND(redirected)
KIND(table)
KIND(hash)
KIND(initial_exec)
KIND(general_dynamic)

struct Kind {
    const char* name;
    std::array<Read, options> reads;
};
constexpr auto all = std::make_index_sequence<options>();
const Kind kinds[] = {{"empty", empty_reads(all)},
                      {"global", global_reads(all)},
                      {"redirected", redirected_reads(all)},
                      {"table", table_reads(all)},
                      {"hash", hash_reads(all)},
                      {"initial-exec", initial_exec_reads(all)},
                      {"general-dynamic", general_dynamic_reads(all)}};

void write_view_offset() {
    const auto offset = static_cast<std::int32_t>(reinterpret_cast<std::intptr_t>(&current_view) -
                                                  reinterpret_cast<std::intptr_t>(__builtin_thread_pointer()));
    constexpr std::uintptr_t page = 4096;
    const auto begin = reinterpret_cast<std::uintptr_t>(&__start_trampolines) / page * page;
    const auto end = reinterpret_cast<std::uintptr_t>(&__stop_trampolines);
    if (mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) std::abort();
    for (char* at = &__start_trampolines; at + sizeof offset <= &__stop_trampolines; ++at)
        if (std::memcmp(at, &placeholder, sizeof placeholder) == 0) std::memcpy(at, &offset, sizeof offset);
}

void prepare() {
    write_view_offset();
    context.table.assign(registered, 1);
    context.map.buckets.assign(128, {nullptr, nullptr});
    for (std::size_t i = 0; i < options; ++i) {
        storage[i].id = static_cast<std::uint32_t>(i * spread);
        storage[i].value = 1;
        context.view[i * spread] = &storage[i];
    }
    for (std::size_t i = 0; i < libraries; ++i) {
        for (unsigned& value : context.fields[i].values) value = 1;
        const_cast<Map::Bucket&>(context.map.find(&defaults[i])) = {&defaults[i], &context.fields[i]};
    }
    current_initial_exec = &context;
    current_view = context.view.data();
    optctx_current_dynamic = &context;
}

// Of this thread, in nanoseconds: other work on the machine does not count.
double processor_time() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

}  // namespace

// Nanoseconds for one read, over `loops` rounds of all options. -1 for an unknown kind, -2 if a read gives a wrong
// value.
extern "C" __attribute__((visibility("default"))) double run(const char* name, std::uint64_t loops) {
    prepare();
    for (const Kind& kind : kinds) {
        if (std::strcmp(kind.name, name) != 0) continue;
        std::uint64_t sum = 0;
        const double start = processor_time();
        for (std::uint64_t loop = 0; loop < loops; ++loop)
            for (const Read read : kind.reads) sum += read(context);
        const double taken = processor_time() - start;
        if (sum != (std::strcmp(name, "empty") == 0 ? 0 : loops * options)) return -2;
        return taken / static_cast<double>(loops * options);
    }
    return -1;
}
