// Attaching and detaching, each one native step: an exception before or after it leaves a consistent state.
#include "bind/table.hpp"
#include "bindings.hpp"
#include "machine/machines.hpp"
#include "patch/patch.hpp"
#include "patch/pointers.hpp"
#include "view/attachment.hpp"
#include "view/recorder.hpp"
#include "view/scope.hpp"

#include <nanobind/stl/tuple.h>

#include <exception>
#include <tuple>

namespace nb = nanobind;
using namespace nb::literals;
using namespace optctx;

namespace {

// The numbers of bound LLVMContexts, entered scopes and recording blocks.
using Users = std::tuple<std::size_t, std::size_t, std::size_t>;

void redirect(patch::Transaction& code, patch::PointerTransaction& tables, std::size_t fail_at) {
    code.commit(fail_at);
    try {
        tables.commit();
    } catch (const std::exception&) {
        code.undo();
        throw;
    }
    view::set_attached(true);
}

// A thread that enters, binds or records first counts itself, then asks `is_attached`. So either this function sees its
// count, or that thread sees that it must attach again.
template <class Undo>
Users undo_if_unused(const Undo& undo) {
    view::set_attached(false);
    const Users users{bind::bound_count(), view::active_scopes(), view::active_recorders()};
    if (users != Users{}) {
        view::set_attached(true);
        return users;
    }
    try {
        undo();
    } catch (const std::exception&) {
        view::set_attached(true);
        throw;
    }
    return users;
}

Users restore(patch::Transaction& code, patch::PointerTransaction& tables) {
    return undo_if_unused([&] {
        tables.undo();
        try {
            code.undo();
        } catch (const std::exception&) {
            tables.commit();
            throw;
        }
        machine::forget_all();
    });
}

}  // namespace

void add_attach(nb::module_& m) {
    m.def("is_attached", &view::is_attached, "Return whether scopes reach LLVM now.");
    m.def("redirect", &redirect, "code"_a, "tables"_a, "fail_at"_a = 0,
          "Commit both transactions, or none of them. Scopes reach LLVM from then on.");
    m.def("restore", &restore, "code"_a, "tables"_a,
          "Undo `redirect` completely if nothing uses it. Returns the numbers of (bound LLVMContexts, entered scopes, "
          "recording blocks). If all are 0, `redirect` was undone.");
    m.def("set_attached", [] { view::set_attached(true); }, "Attach without changing any code.");
    m.def(
        "set_detached", [] { return undo_if_unused([] {}); },
        "Detach without changing any code, if nothing uses optctx. Returns the counts of `restore`.");
}
