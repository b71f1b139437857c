// Python bindings of drift/, and calls from a thread that changes an option back into Python.
#include "intercept/setters.hpp"
#include "python/bindings.hpp"
#include "python/callbacks.hpp"
#include "python/gil.hpp"
#include "python/watchers.hpp"
#include "values/process_wide.hpp"

#include <dlfcn.h>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>

namespace nb = nanobind;
using namespace nb::literals;
using namespace optctx;
using callbacks::Callback;

namespace {

std::atomic<bool> listening{false};

// The number of options, at all depths, that LLVM is giving a value on this thread.
thread_local std::size_t parses = 0;

bool begin(unsigned image, std::uintptr_t option) {
    if (!listening.load(std::memory_order_acquire) || !python_lives()) return false;
    ++parses;
    callbacks::tell(Callback::occurrence_begins, [&] { return nb::make_tuple(image, option); });
    return true;
}

void end(unsigned image, std::uintptr_t option, image::RawStringRef value, contain::Outcome outcome, bool refused) {
    callbacks::tell(Callback::occurrence_ends, [&] {
        const nb::object given =
            value.data == nullptr ? nb::object(nb::none()) : nb::object(nb::bytes(value.data, value.size));
        return nb::make_tuple(image, option, given, refused, outcome != contain::Outcome::process);
    });
    --parses;
}

void tell_call(Callback which) noexcept {
    if (listening.load(std::memory_order_acquire)) callbacks::tell(which, [] { return nb::make_tuple(); });
}

// Copies of the storage that the changes in force cover. Their addresses stay valid as long as this object lives.
struct CoveredStorage {
    std::vector<values::Covered> pieces;
};

std::uintptr_t place(const CoveredStorage& storage, std::uintptr_t address) {
    for (const values::Covered& piece : storage.pieces)
        if (address - piece.address < piece.bytes.size())
            return reinterpret_cast<std::uintptr_t>(piece.bytes.data()) + (address - piece.address);
    return address;
}

std::pair<std::string, std::string> symbol_near(std::uintptr_t address) {
    Dl_info found{};
    if (dladdr(reinterpret_cast<const void*>(address), &found) == 0) return {};
    return {found.dli_sname == nullptr ? "" : found.dli_sname, found.dli_fname == nullptr ? "" : found.dli_fname};
}

}  // namespace

void tell_call_begins() noexcept { tell_call(Callback::call_begins); }

void tell_call_ends() noexcept { tell_call(Callback::call_ends); }

void add_drift(nb::module_& m) {
    m.def(
        "replace_add_occurrence",
        [](unsigned image, std::uintptr_t add_occurrence) {
            return contain::replace_add_occurrence(views::checked_image(image), add_occurrence, {begin, end});
        },
        "image"_a, "add_occurrence"_a,
        "Return the replacement for the image's `add_occurrence` in virtual function tables. Inside a context it does "
        "what that says (Sets), elsewhere it calls LLVM's function. While there are watchers, it calls what "
        "was set as `occurrence_begins` and `occurrence_ends`, before and after.");
    m.def(
        "parses_under_way", [] { return parses; }, "Return the number of options that LLVM is parsing on this thread.");
    watching::add(m, [](bool on) { listening = on; });
    m.def(
        "report_unraisable",
        [](nb::handle error, nb::handle where) {
            PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
            PyErr_WriteUnraisable(where.ptr());
        },
        "error"_a, "where"_a, "Report an exception to sys.unraisablehook.");
    m.def("native_stack", &watching::native_stack,
          "Return an address in each function that this thread executes, innermost first.");
    m.def("symbol_near", &symbol_near, "address"_a, "(name of an exported symbol or '', path of the library or '').");
    nb::class_<watching::Spans>(m, "Spans", "Pieces of memory that are read together.")
        .def(
            "__init__",
            [](watching::Spans* self, const std::vector<std::pair<std::uintptr_t, std::size_t>>& spans) {
                new (self) watching::Spans{spans};
            },
            "spans"_a, "`spans`: (address, size in bytes) of each. They must stay readable.")
        .def("read", [](const watching::Spans& self) {
            const std::string bytes = watching::read(self);
            return nb::bytes(bytes.data(), bytes.size());
        });
    nb::class_<CoveredStorage>(m, "CoveredStorage",
                               "The previous contents of LLVM's storage that optctx itself has changed.")
        .def("__init__", [](CoveredStorage* self) { new (self) CoveredStorage{values::covered_storage()}; })
        .def("place", &place, "address"_a,
             "Return where to read the storage at an address: in a copy, valid as long as this object, or in place.");
    m.def(
        "process_wide_epoch", [](unsigned image) { return values::process_wide_epoch(views::checked_image(image)); },
        "image"_a,
        "Return the number of process-wide changes made and undone in the image: odd while changes of contexts with "
        "process_wide=\"exclusive\" are in force.");
}
