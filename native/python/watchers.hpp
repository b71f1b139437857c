// The watchers of each image. While there is one, the virtual function tables of its LLVM lead to optctx
// (intercept/setters.hpp).
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace optctx::watching {

// Adds the bindings. `listen` is called with true before the first watcher is added, and with false after the last one
// of all images is removed.
void add(nanobind::module_& m, void (*listen)(bool));

// (address, size in bytes) of each piece, which must stay readable.
struct Spans {
    std::vector<std::pair<std::uintptr_t, std::size_t>> pieces;
};

std::string read(const Spans& spans);

// Returns an address in each function that this thread is executing, innermost first, as far as the stack can be
// unwound, at most 64.
std::vector<std::uintptr_t> native_stack();

}  // namespace optctx::watching
