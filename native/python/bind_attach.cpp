// Attaching and detaching, each one native step: an exception before or after it leaves a consistent state.
#include "intercept/bound_contexts.hpp"
#include "intercept/machines.hpp"
#include "patch/code.hpp"
#include "patch/pointers.hpp"
#include "python/bindings.hpp"
#include "scopes/recorder.hpp"
#include "scopes/scope.hpp"

#include <exception>

namespace {

// The numbers of an image's bound LLVMContexts, entered scopes and recording blocks.
using Users = std::tuple<std::size_t, std::size_t, std::size_t>;

// Does a step. If it throws, calls `back` to undo the step before it, and throws again.
template <class Next, class Back>
void or_back(const Next& next, const Back& back) {
    try {
        next();
    } catch (const std::exception&) {
        back();
        throw;
    }
}

void redirect(unsigned image, patch::Transaction& code, patch::SharedPointers& tables, patch::SharedPointers& setters) {
    views::checked_image(image);
    const auto change_tables = [&] {
        tables.use();
        or_back([&] { setters.use(); }, [&] { tables.give_up(); });
    };
    code.commit();
    or_back(change_tables, [&] { code.undo(); });
    views::set_attached(image, true);
}

// A thread that enters, binds or records first counts itself, then asks `is_attached`. So either this function sees its
// count, or that thread sees that it must attach again.
Users restore(unsigned image, patch::Transaction& code, patch::SharedPointers& tables, patch::SharedPointers& setters) {
    const auto undo_code = [&] {
        tables.give_up();
        or_back([&] { code.undo(); }, [&] { tables.use(); });
    };
    const auto undo = [&] {
        setters.give_up();
        or_back(undo_code, [&] { setters.use(); });
        machine::forget_all(image);
    };
    views::set_attached(views::checked_image(image), false);
    const Users users{bind::bound_count(image), scopes::active_scopes(image), scopes::active_recorders(image)};
    const auto stay = [image] { views::set_attached(image, true); };
    if (users == Users{})
        or_back(undo, stay);
    else
        stay();
    return users;
}

}  // namespace

void add_attach(nb::module_& m) {
    m.def("is_attached", of_image(&views::is_attached), "image"_a, "Return whether scopes reach the image now.");
    m.def("redirect", &redirect, "image"_a, "code"_a, "tables"_a, "setters"_a,
          "Commit both transactions and use `setters`, or none of them. Scopes reach the image from then on.");
    m.def("restore", &restore, "image"_a, "code"_a, "tables"_a, "setters"_a,
          "Undo `redirect` completely if nothing uses it. Returns the numbers of (bound LLVMContexts, entered scopes, "
          "recording blocks). If all are 0, `redirect` was undone.");
}
