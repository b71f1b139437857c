// References without an owner, left by scopes whose threads ended inside them and by ended bindings. A thread that
// holds the GIL drops them later.
#pragma once

#include <vector>

namespace optctx::scopes {

void add_orphan(void* reference) noexcept;
std::vector<void*> take_orphans();

}  // namespace optctx::scopes
