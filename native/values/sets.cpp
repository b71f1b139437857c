#include "values/sets.hpp"

#include "os/os.hpp"

#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <thread>

namespace optctx::values {
namespace {

using image::OwnSet;
using image::RawSet;
using image::RawSetNode;

constexpr int attempts = 1000;  // LLVM finishes a change within microseconds

// Appends the elements below `node`, at most `limit`. `load` copies a node. Returns false if `load` fails or if there
// are not exactly `limit` elements.
template <class Load>
bool walk(const RawSetNode* node, std::size_t limit, Load load, std::vector<std::int32_t>& elements) {
    std::vector<RawSetNode> above;
    std::size_t seen = 0;
    while (node != nullptr || !above.empty()) {
        while (node != nullptr) {
            RawSetNode copy;
            if (++seen > limit || !load(node, copy)) return false;
            above.push_back(copy);
            node = copy.left;
        }
        elements.push_back(above.back().element);
        node = above.back().right;
        above.pop_back();
    }
    return seen == limit;
}

RawSet load_set(std::uintptr_t address) {
    RawSet set;
    std::memcpy(&set, reinterpret_cast<const void*>(address), sizeof set);
    return set;
}

bool ascending(const std::vector<std::int32_t>& elements) {
    for (std::size_t i = 1; i < elements.size(); ++i)
        if (elements[i - 1] >= elements[i]) return false;
    return true;
}

bool try_live(std::uintptr_t address, std::vector<std::int32_t>& elements) {
    const RawSet set = load_set(address);
    elements.clear();
    if (set.root == nullptr && set.count == 0) return true;
    const auto load = [](const RawSetNode* node, RawSetNode& copy) {
        return os::read_checked(reinterpret_cast<std::uintptr_t>(node), &copy, sizeof copy);
    };
    if (!walk(set.root, set.count, load, elements) || !ascending(elements)) return false;
    const RawSet after = load_set(address);
    return after.root == set.root && after.smallest == set.smallest && after.largest == set.largest &&
           after.count == set.count;
}

}  // namespace

std::vector<std::int32_t> elements_of(const RawSet& set) {
    std::vector<std::int32_t> elements;
    walk(set.root, set.count, [](const RawSetNode* node, RawSetNode& copy) { return (copy = *node, true); }, elements);
    return elements;
}

std::vector<std::int32_t> live_elements(std::uintptr_t address) {
    std::vector<std::int32_t> elements;
    for (int attempt = 0; attempt < attempts; ++attempt) {
        if (try_live(address, elements)) return elements;
        std::this_thread::yield();
    }
    throw std::runtime_error("LLVM keeps changing a std::set that is to be read");
}

void build_set(void* at, const std::vector<std::int32_t>& elements) {
    new (at) OwnSet(elements.begin(), elements.end());
}

void empty_set(void* at) noexcept {
    std::destroy_at(static_cast<OwnSet*>(at));
    new (at) OwnSet;
}

}  // namespace optctx::values
