// The watchers of this process. While there is one, LLVM's virtual function tables lead to optctx.
#pragma once

#include <nanobind/nanobind.h>

namespace optctx::watching {

// Adds the bindings. `listen` is called with true before the first watcher is added, and with false after the last one
// is removed.
void add(nanobind::module_& m, void (*listen)(bool));

}  // namespace optctx::watching
