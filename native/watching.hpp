// The watchers of this process. LLVM's tables of virtual functions lead to optctx while there is one.
#pragma once

#include <nanobind/nanobind.h>

namespace optctx::watching {

// The bindings; `listen` is called with true before the first watcher is there, and with false after the last one.
void add(nanobind::module_& m, void (*listen)(bool));

}  // namespace optctx::watching
