// References that nothing holds any more, given up later by a thread that may: of scopes whose threads ended inside
// them, and of bindings.
#pragma once

#include <vector>

namespace optctx::view {

void add_orphan(void* reference) noexcept;
std::vector<void*> take_orphans();

}  // namespace optctx::view
