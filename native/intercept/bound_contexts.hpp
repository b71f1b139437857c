// The bindings of each image: which context belongs to which LLVMContext.
#pragma once

#include "scopes/orphans.hpp"
#include "scopes/scope.hpp"

#include <memory>

namespace optctx::bind {

// What happens if LLVM runs on a module of a bound LLVMContext while this thread is inside another context.
enum class OnMismatch { switch_over, warn, error };

// Owned by a C++ shared_ptr, as Context is: a run keeps its binding even if another thread unbinds it.
struct Binding : std::enable_shared_from_this<Binding> {
    Binding(std::shared_ptr<contexts::Context> bound, OnMismatch mismatch, void* object)
        : context(std::move(bound)), on_mismatch(mismatch), owner(object) {}
    Binding(const Binding&) = delete;
    Binding& operator=(const Binding&) = delete;
    ~Binding() { scopes::add_orphan(owner); }

    std::shared_ptr<contexts::Context> context;
    OnMismatch on_mismatch;
    void* owner;  // a reference that goes to scopes::add_orphan at the end
};

// Binds an LLVMContext of the image that the context is for. Returns false, with nothing changed, if the LLVMContext is
// already bound. While it is bound, LLVM may read in the context at any time.
bool bind(const void* llvm_context, std::shared_ptr<const Binding> binding);
// Returns the binding that was removed, or null.
std::shared_ptr<const Binding> unbind(unsigned image, const void* llvm_context) noexcept;
// Unbinds the LLVMContext, if it is bound, whose first member leads to these contents.
void unbind_by_contents(unsigned image, const void* contents) noexcept;
// Returns null if the LLVMContext is not bound. While nothing at all is bound in the image, this takes one or two
// nanoseconds.
std::shared_ptr<const Binding> bound(unsigned image, const void* llvm_context) noexcept;
std::size_t bound_count(unsigned image) noexcept;

}  // namespace optctx::bind
