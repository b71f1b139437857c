#include "python/compilation.hpp"

#include "intercept/bound_contexts.hpp"
#include "intercept/runs.hpp"
#include "os/os.hpp"
#include "python/block.hpp"
#include "python/gil.hpp"
#include "python/host_lock.hpp"
#include "python/scope_block.hpp"

#include <utility>

namespace nb = nanobind;

namespace optctx::compile {
namespace {

class Locked {
public:
    explicit Locked(os::Keys keys) : keys_(std::move(keys)) {
        os::lock(keys_, {[](const std::function<void()>& work) { wait_without_gil(work); }, &run_signal_handlers});
    }
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;
    ~Locked() { os::unlock(keys_); }

private:
    os::Keys keys_;
};

// Returns the owner of the LLVMContext's binding if its mismatch mode is "switch", otherwise None. Needed for optctx's
// own compilations, which also read options before and after a pass manager runs.
nb::object travelling(unsigned image, std::uintptr_t llvm_context) {
    const auto binding = bind::bound(image, reinterpret_cast<const void*>(llvm_context));
    if (binding == nullptr || binding->on_mismatch != bind::OnMismatch::switch_over) return nb::none();
    return nb::borrow(static_cast<PyObject*>(binding->owner));
}

// Holds a scope or a lock from C++ as a `with` statement does, and leaves it without raising.
class Inside {
public:
    Inside(nb::object manager, const blocks::Kind& kind) : manager_(std::move(manager)), kind_(kind) {
        if (manager_.is_none()) return;
        ticket_ = scopes::new_ticket();
        kind_.enter(manager_, ticket_);
    }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    ~Inside() {
        const nb::error_scope pending;
        if (!manager_.is_none()) kind_.abandon(manager_, ticket_);
    }

private:
    nb::object manager_;
    const blocks::Kind& kind_;
    scopes::Ticket ticket_{};
};

// Returns the scope that was entered for the LLVMContext's binding.
nb::object run_inside(const Need& need, const std::function<nb::object()>& work, nb::object& result) {
    const Counted counted(need.image);
    const Locked locked(os::in_order(need.target_machine == 0 ? os::Keys{need.llvm_context}
                                                              : os::Keys{need.llvm_context, need.target_machine}));
    const Inside llvmlite(need.llvmlite_lock, llvmlite_lock::block);
    nb::object scope = travelling(need.image, need.llvm_context);
    const Inside travels(scope, scoping::scope);
    const bind::EarlyOutside outside(need.image, reinterpret_cast<const void*>(need.llvm_context));
    result = outside.allowed() ? work() : nb::none();
    return scope;
}

}  // namespace

Counted::Counted(unsigned image) : image_(image) { scoping::begin_counted(image); }
Counted::~Counted() {
    const nb::error_scope pending;
    scoping::end_compilation(image_);
}

nb::object run(const Need& need, const std::function<nb::object()>& work) {
    nb::object result;
    const nb::object scope = run_inside(need, work, result);
    if (!scope.is_none()) scoping::judge(scope, false);  // after everything is released
    return result;
}

}  // namespace optctx::compile
