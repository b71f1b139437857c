// Attaching and detaching, each one native step: an exception before or after it leaves a state that is whole.
#include "bind/table.hpp"
#include "bindings.hpp"
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

// LLVMContexts that are bound, scopes that are entered, blocks that record.
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

// Any thread that enters, binds or records is counted first and asks `is_attached` then: either it is counted here, or
// it finds that it has to attach again.
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
    });
}

}  // namespace

void add_attach(nb::module_& m) {
    m.def("is_attached", &view::is_attached, "Whether scopes reach LLVM now.");
    m.def("redirect", &redirect, "code"_a, "tables"_a, "fail_at"_a = 0,
          "Commits both, all or none; scopes reach LLVM then.");
    m.def("restore", &restore, "code"_a, "tables"_a,
          "Undoes `redirect`, all or none, if nothing uses it: (LLVMContexts that are bound, scopes that are entered, "
          "blocks that record), all 0 if it was undone.");
    m.def("set_attached", [] { view::set_attached(true); }, "Where no code has to be changed.");
    m.def("set_detached", [] { return undo_if_unused([] {}); }, "The counts of `restore`.");
}
