// Python bindings of drift/, and calls from a thread that changes an option back into Python.
#include "intercept/setters.hpp"
#include "python/bindings.hpp"
#include "python/gil.hpp"
#include "python/native_calls.hpp"
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

namespace {

// Each is set once and never freed: LLVM may run while Python shuts down.
nb::object* begin_occurrence = nullptr;
nb::object* end_occurrence = nullptr;
nb::object* call_begins = nullptr;
nb::object* call_ends = nullptr;
std::atomic<bool> listening{false};

template <class... Arguments>
void call(nb::object& function, const char* where, Arguments&&... arguments) noexcept {
    const nb::error_scope pending;  // an exception may be pending, and must be preserved
    try {
        stay_at_exit([&] { function(std::forward<Arguments>(arguments)...); });
    } catch (nb::python_error& error) {
        error.discard_as_unraisable(where);
    }
}

bool python_lives() { return nb::is_alive() && !native_calls::python_is_ending(); }

// The number of options, at all depths, that LLVM is giving a value on this thread.
thread_local std::size_t parses = 0;

bool begin(unsigned image, std::uintptr_t option) {
    if (!listening.load(std::memory_order_acquire) || !python_lives()) return false;
    const WithGil gil;
    ++parses;
    call(*begin_occurrence, "optctx: before an option is set", image, option);
    return true;
}

void end(unsigned image, std::uintptr_t option, image::RawStringRef value, contain::Outcome outcome, bool refused) {
    if (!python_lives()) {
        --parses;
        return;
    }
    const WithGil gil;
    const nb::object given =
        value.data == nullptr ? nb::object(nb::none()) : nb::object(nb::bytes(value.data, value.size));
    call(*end_occurrence, "optctx: after an option was set", image, option, given, refused,
         outcome != contain::Outcome::process);
    --parses;
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

void tell_call_begins() noexcept {
    if (listening.load(std::memory_order_acquire)) call(*call_begins, "optctx: at a call of llvmlite's");
}

void tell_call_ends() noexcept {
    if (listening.load(std::memory_order_acquire)) call(*call_ends, "optctx: after a call of llvmlite's");
}

void add_drift(nb::module_& m) {
    m.def(
        "replace_add_occurrence",
        [](unsigned image, std::uintptr_t add_occurrence) {
            return contain::replace_add_occurrence(views::checked_image(image), add_occurrence, {begin, end});
        },
        "image"_a, "add_occurrence"_a,
        "Return the replacement for the image's `add_occurrence` in virtual function tables. Inside a context it does "
        "what that says (Sets), elsewhere it calls LLVM's function. While there are watchers, it calls what "
        "`set_occurrence_listeners` has set, before and after.");
    m.def(
        "set_occurrence_listeners",
        [](nb::object before, nb::object after) {
            begin_occurrence = new nb::object(std::move(before));
            end_occurrence = new nb::object(std::move(after));
        },
        "begin"_a, "end"_a,
        "Set what is called on a thread that sets an option of a watched image: begin(image, option), and end(image, "
        "option, value or None for a flag, whether LLVM refused it, whether a context kept it from the process). Call "
        "once in a process, before the first watcher is added.");
    m.def(
        "set_call_listeners",
        [](nb::object begins, nb::object ends) {
            call_begins = new nb::object(std::move(begins));
            call_ends = new nb::object(std::move(ends));
        },
        "begins"_a, "ends"_a,
        "Set what is called at llvmlite's calls while there are watchers. Call once in a process.");
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
