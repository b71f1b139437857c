// Loops around one kind of lookup or scope each, for evidence/benchmarks/lookups.py: nanoseconds for one, over `loops`
// of them.
#include <chrono>
#include <cstdint>
#include <ctime>
#include <optctx/optctx.hpp>
#include <string>
#include <unordered_map>

namespace {

template <class Lookup>
double nanoseconds(std::uint64_t loops, Lookup&& lookup) {
    volatile unsigned sink = 0;
    const auto start = std::chrono::steady_clock::now();
    for (std::uint64_t i = 0; i < loops; ++i) sink = lookup();
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
    return taken.count() / static_cast<double>(loops);
}

// The same in processor time of this thread: a scope takes long enough for other work to interrupt many of them.
template <class Scope>
double processor_nanoseconds(std::uint64_t loops, Scope&& scope) {
    const auto now = [] {
        std::timespec time{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
    };
    const double start = now();
    for (std::uint64_t i = 0; i < loops; ++i) scope();
    return (now() - start) / static_cast<double>(loops);
}

}  // namespace

extern "C" {

// What finding a name takes in a hash map: the baseline.
double map_of_names(std::uint64_t loops) {
    std::unordered_map<std::string, unsigned> map;
    for (unsigned i = 0; i < 2596; ++i) map["option-" + std::to_string(i)] = i;
    return nanoseconds(loops, [&] { return map.find("option-1234")->second; });
}
double by_name(std::uint64_t loops) {
    return nanoseconds(loops, [] { return optctx::get<unsigned>("unroll-count"); });
}
double string_by_name(std::uint64_t loops) {
    return nanoseconds(loops, [] { return static_cast<unsigned>(optctx::get<std::string>("cfg-func-name").size()); });
}
double scope_prepared(std::uint64_t loops) {
    const optctx::OptionContext context{{"unroll-count", "8"}};
    return processor_nanoseconds(loops, [&] { const optctx::Scope scope(context); });
}
double scope_of_text(std::uint64_t loops) {
    return processor_nanoseconds(loops, [] { const optctx::Scope scope{{"unroll-count", "8"}}; });
}
}
