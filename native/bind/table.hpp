// Which context of option values belongs to which LLVMContext.
#pragma once

#include "view/orphans.hpp"
#include "view/scope.hpp"

#include <memory>

namespace optctx::bind {

// What happens where LLVM runs on a module of a bound LLVMContext and this thread is inside another context.
enum class OnMismatch { switch_over, warn, error };

// Always owned by a shared_ptr: a run that is under way keeps its binding, whoever unbinds it meanwhile.
struct Binding {
    Binding(std::shared_ptr<view::Context> bound, OnMismatch mismatch, void* object)
        : context(std::move(bound)), on_mismatch(mismatch), owner(object) {}
    Binding(const Binding&) = delete;
    Binding& operator=(const Binding&) = delete;
    ~Binding() { view::add_orphan(owner); }

    std::shared_ptr<view::Context> context;
    OnMismatch on_mismatch;
    void* owner;  // handed to view::take_orphans at the end
};

// False, with nothing changed, if the LLVMContext is bound already. As long as it is, LLVM may come to read in the
// context.
bool bind(const void* llvm_context, std::shared_ptr<const Binding> binding);
// The binding that there was, or null.
std::shared_ptr<const Binding> unbind(const void* llvm_context) noexcept;
// Null where nothing is bound; then, and while nothing at all is bound, it takes a nanosecond or two.
std::shared_ptr<const Binding> bound(const void* llvm_context) noexcept;
std::size_t bound_count() noexcept;

}  // namespace optctx::bind
