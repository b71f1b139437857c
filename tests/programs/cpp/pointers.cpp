// Changes two pointers in memory whose pages have other protections, with pages of others between them. Returns 0, or
// the number of what is wrong.
#include "patch/pointers.hpp"
#include "os/os.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <vector>

using namespace optctx;

namespace {

// What each page is, the first and the last of which have a pointer.
const std::vector<int> own{PROT_READ, PROT_READ | PROT_WRITE, PROT_NONE, PROT_READ | PROT_EXEC, PROT_READ, PROT_READ};

std::vector<os::Access> protections(std::uintptr_t begin) {
    std::vector<os::Access> found;
    for (const os::MappedRange& range : os::address_space())
        for (std::size_t page = 0; page < own.size(); ++page)
            if (const std::uintptr_t at = begin + page * os::page_size(); range.begin <= at && at < range.end)
                found.push_back(os::access_of(range));
    return found;
}

}  // namespace

int main() {
    const std::size_t page = os::page_size();
    void* memory = mmap(nullptr, own.size() * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const auto begin = reinterpret_cast<std::uintptr_t>(memory);
    const std::uintptr_t first = begin + page - 8, last = begin + (own.size() - 1) * page;
    for (std::size_t each = 0; each < own.size(); ++each)
        if (mprotect(reinterpret_cast<void*>(begin + each * page), page, own[each]) != 0) return 1;
    const auto before = protections(begin);
    patch::SharedPointers pointers({{first, 0, 1}, {last, 0, 2}});
    const auto value = [](std::uintptr_t at) { return *reinterpret_cast<std::uintptr_t*>(at); };
    for (int turn = 0; turn < 2; ++turn) {
        pointers.use();
        if (value(first) != 1 || value(last) != 2) return 2;
        if (protections(begin) != before) return 3;
        pointers.give_up();
        if (value(first) != 0 || value(last) != 0) return 4;
        if (protections(begin) != before) return 5;
    }
    munmap(reinterpret_cast<void*>(last), page);
    try {
        pointers.use();
        return 6;
    } catch (const os::OsError&) {
    }
    return value(first) == 0 ? 0 : 7;
}
