#include "python/callbacks.hpp"

#include "python/block.hpp"
#include "python/gil.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>

namespace nb = nanobind;
using namespace nb::literals;

namespace optctx::callbacks {
namespace {

struct Row {
    std::string_view name;
    const char* where;  // what sys.unraisablehook is told
    // A reference that is never dropped: LLVM may run while Python shuts down, and while another function is set.
    std::atomic<PyObject*> function{nullptr};
};

// In the order of Callback.
std::array rows{
    Row{"attach", "optctx: attaching"},
    Row{"check_in_line", "optctx: comparing tasks"},
    Row{"cannot_enter", "optctx: entering a context"},
    Row{"cannot_leave", "optctx: leaving a context"},
    Row{"judge", "optctx: judging what LLVM read"},
    Row{"may_run_outside", "optctx: compiling outside every scope"},
    Row{"may_run", "optctx: comparing contexts"},
    Row{"resolve", "optctx: reading the attribute of a function"},
    Row{"cannot_run_in", "optctx: entering a context"},
    Row{"cannot_make_machine", "optctx: making a TargetMachine"},
    Row{"leave_problem", "optctx: leaving a problem for the enclosing call"},
    Row{"not_contained", "optctx: when an option is set inside a context"},
    Row{"ends_with_call", "optctx: when an option is set inside a context"},
    Row{"contained", "optctx: when an option is set inside a context"},
    Row{"failed", "optctx: when an option is set inside a context"},
    Row{"option_given", "optctx: after an option was set"},
};
static_assert(rows.size() == static_cast<std::size_t>(Callback::option_given) + 1);

Row& row(Callback which) { return rows[static_cast<std::size_t>(which)]; }

void set(const nb::kwargs& given) {
    for (auto [key, function] : given) {
        const auto name = nb::cast<std::string>(key);
        auto* const at = std::ranges::find(rows, std::string_view(name), &Row::name);
        if (at == rows.end()) throw nb::value_error(("no function is called back as " + name).c_str());
        at->function = nb::borrow(function).release().ptr();
    }
}

}  // namespace

nb::object ask(Callback which, const nb::tuple& arguments) {
    PyObject* function = row(which).function;
    if (function == nullptr)
        throw nb::value_error(("nothing was set to call back as " + std::string(row(which).name)).c_str());
    return blocks::call(function, arguments);
}

void ask_from_llvm(Callback which, const Arguments& arguments, const std::function<void(nb::object)>& take) {
    const WithGil gil;
    try {
        stay_at_exit([&] { take(ask(which, arguments())); });
    } catch (nb::python_error& error) {
        try {
            ask(Callback::leave_problem, nb::make_tuple(error.value()));
        } catch (nb::python_error& second) {
            second.discard_as_unraisable(row(which).where);
        }
    }
}

void tell(Callback which, const Arguments& arguments) noexcept {
    if (!python_lives() || row(which).function == nullptr) return;
    const WithGil gil;
    const nb::error_scope pending;
    try {
        stay_at_exit([&] { ask(which, arguments()); });
    } catch (nb::python_error& error) {
        error.discard_as_unraisable(row(which).where);
    }
}

void add(nb::module_& m) {
    m.def("set_callbacks", &set, "functions"_a,
          nb::sig("def set_callbacks(**functions: collections.abc.Callable[..., object]) -> None"),
          "Set functions that native code calls back in this process, by the names in native/python/callbacks.hpp. "
          "Raises ValueError for another name. A function stays alive for good.");
}

}  // namespace optctx::callbacks
