#include "compile/session.hpp"

#include "bind/table.hpp"
#include "blocks/block.hpp"
#include "gil.hpp"
#include "native_calls.hpp"
#include "os/os.hpp"
#include "scoping.hpp"

#include <utility>

namespace nb = nanobind;

namespace optctx::compile {
namespace {

class Locked {
public:
    explicit Locked(Keys keys) : keys_(std::move(keys)) {
        lock(keys_, {[](const std::function<void()>& work) {
                         const WithoutGil released;
                         work();
                         if (!nb::is_alive() || native_calls::python_is_ending()) os::stop_this_thread();
                     },
                     [] {
                         if (PyErr_CheckSignals() != 0) throw nb::python_error();
                     }});
    }
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;
    ~Locked() { unlock(keys_); }

private:
    Keys keys_;
};

// The owner of what is bound to the LLVMContext with "switch", or None. For optctx's own compilations, which read
// options before and after a pass manager runs, too.
nb::object travelling(std::uintptr_t llvm_context) {
    const auto binding = bind::bound(reinterpret_cast<const void*>(llvm_context));
    if (binding == nullptr || binding->on_mismatch != bind::OnMismatch::switch_over) return nb::none();
    return nb::borrow(static_cast<PyObject*>(binding->owner));
}

// A block of C++ code that holds a scope or a lock as a `with` statement does.
class Inside {
public:
    Inside(nb::object manager, const blocks::Kind& kind) : manager_(std::move(manager)), kind_(kind) {
        if (manager_.is_none()) return;
        ticket_ = view::new_ticket();
        kind_.enter(manager_, ticket_);
    }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    ~Inside() {
        if (!manager_.is_none()) kind_.abandon(manager_, ticket_);
    }
    // May throw; nothing is held then.
    void leave(bool failed) {
        if (!manager_.is_none()) kind_.leave(manager_, failed);
    }

private:
    nb::object manager_;
    const blocks::Kind& kind_;
    view::Ticket ticket_{};
};

}  // namespace
