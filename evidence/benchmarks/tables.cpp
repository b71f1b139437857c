// tables FORM OPTIONS LIBRARIES BYTES OVERRIDES ROUNDS: makes, fills, copies and frees the values of one context, in a
// form that was proposed for LLVM. Prints the bytes that it asks the heap for, and nanoseconds of processor time for
// each step.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <memory>
#include <new>
#include <string_view>
#include <vector>

namespace {
std::size_t asked_for = 0;  // bytes, by every operator new so far
}

void* operator new(std::size_t size) {
    asked_for += size;
    if (void* made = std::malloc(size)) return made;
    throw std::bad_alloc();
}
void operator delete(void* freed) noexcept { std::free(freed); }
void operator delete(void* freed, std::size_t) noexcept { std::free(freed); }

namespace {

struct Size {
    std::size_t options, libraries, bytes, overrides;
};

// The ids of the overrides lie far apart, as those of the options of one compilation do.
std::size_t id(std::size_t number, std::size_t options) { return number * 37 % options; }

// A slot for each registered option: its value, or where that is.
struct Table {
    std::vector<std::uint64_t> slots;
    explicit Table(const Size& size) : slots(size.options) {}
    void set(const Size& size, std::size_t number) { slots[id(number, size.options)] = number; }
};

// The same, where contexts share blocks of slots until one writes.
struct SharedBlocks {
    static constexpr std::size_t slots = 64;
    struct Block {
        std::uint64_t values[slots];
    };
    static std::shared_ptr<Block>& defaults() {
        static auto made = std::make_shared<Block>();
        return made;
    }
    std::vector<std::shared_ptr<Block>> blocks;
    explicit SharedBlocks(const Size& size) : blocks((size.options + slots - 1) / slots, defaults()) {}
    void set(const Size& size, std::size_t number) {
        const std::size_t at = id(number, size.options);
        auto& block = blocks[at / slots];
        if (block.use_count() > 1) block = std::make_shared<Block>(*block);
        block->values[at % slots] = number;
    }
};

// A tree of overrides alone.
struct Tree {
    std::map<std::uint32_t, std::uint64_t> values;
    explicit Tree(const Size&) {}
    void set(const Size& size, std::size_t number) {
        values[static_cast<std::uint32_t>(id(number, size.options))] = number;
    }
};

// A struct for each library, made when an option of that library is set.
struct Structs {
    std::vector<std::vector<char>> fields;
    explicit Structs(const Size& size) : fields(size.libraries) {}
    void set(const Size& size, std::size_t number) {
        auto& own = fields[id(number, size.options) % size.libraries];
        if (own.empty()) own.resize(size.bytes / size.libraries);
        own[number % own.size()] = 1;
    }
};

// A struct for each library, all of them in every context.
struct AllStructs {
    std::vector<std::vector<char>> fields;
    explicit AllStructs(const Size& size) : fields(size.libraries, std::vector<char>(size.bytes / size.libraries)) {}
    void set(const Size& size, std::size_t number) {
        auto& own = fields[id(number, size.options) % size.libraries];
        own[number % own.size()] = 1;
    }
};

// Nanoseconds of processor time, which other programs take none of.
double now() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

template <class Form>
std::unique_ptr<Form> filled(const Size& size) {
    auto made = std::make_unique<Form>(size);
    for (std::size_t number = 0; number < size.overrides; ++number) made->set(size, number);
    return made;
}

template <class Form>
void run(const Size& size, std::size_t rounds) {
    filled<Form>(size);  // what is made once for all contexts
    const std::size_t before = asked_for;
    auto kept = filled<Form>(size);
    const std::size_t bytes = asked_for - before;
    std::vector<std::unique_ptr<Form>> made(rounds);
    double start = now();
    for (auto& each : made) each = filled<Form>(size);
    const double making = now() - start;
    made.clear();
    made.resize(rounds);
    start = now();
    for (auto& each : made) each = std::make_unique<Form>(*kept);
    const double copying = now() - start;
    start = now();
    made.clear();
    const double freeing = now() - start;
    const auto count = static_cast<double>(rounds);
    std::printf("%zu %.1f %.1f %.1f\n", bytes, making / count, copying / count, freeing / count);
}

}  // namespace

int main(int count, char** words) {
    if (count != 7) return 2;
    const auto number = [&](int at) { return static_cast<std::size_t>(std::strtoull(words[at], nullptr, 10)); };
    const Size size{number(2), number(3), number(4), number(5)};
    const std::string_view form = words[1];
    const std::size_t rounds = number(6);
    if (form == "table")
        run<Table>(size, rounds);
    else if (form == "blocks")
        run<SharedBlocks>(size, rounds);
    else if (form == "tree")
        run<Tree>(size, rounds);
    else if (form == "structs")
        run<Structs>(size, rounds);
    else if (form == "all-structs")
        run<AllStructs>(size, rounds);
    else
        return 2;
    return 0;
}
