// The watchers of each image. While there is one, the virtual function tables of its LLVM lead to optctx
// (contain/occurrences.hpp).
#pragma once

#include <nanobind/nanobind.h>

namespace optctx::watching {

// Adds the bindings. `listen` is called with true before the first watcher is added, and with false after the last one
// of all images is removed.
void add(nanobind::module_& m, void (*listen)(bool));

}  // namespace optctx::watching
