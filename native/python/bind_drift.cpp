// The watchers of each image, and calls from a thread that sets an option back into Python. While there is a watcher,
// the virtual function tables of its LLVM lead to optctx (intercept/setters.hpp).
#include "intercept/setters.hpp"
#include "os/fork_locks.hpp"
#include "patch/pointers.hpp"
#include "python/bindings.hpp"
#include "python/block.hpp"
#include "python/bytes.hpp"
#include "python/callbacks.hpp"
#include "python/gil.hpp"

#include <dlfcn.h>
#include <unwind.h>

#include <algorithm>
#include <atomic>
#include <mutex>

using callbacks::Callback;

namespace {

std::atomic<bool> listening{false};  // there is a watcher

struct Watching {
    PyObject* watcher;  // a reference
    unsigned image;
    patch::SharedPointers* tables;  // of which it is a user
};

struct Watchers {
    os::ForkSafeMutex mutex{os::Rank::watchers};  // never held while Python code runs
    std::vector<Watching> all;
};

Watchers* watchers = new Watchers;  // never freed

void add_watcher(unsigned image, nb::handle watcher, patch::SharedPointers& tables) {
    const std::lock_guard lock(watchers->mutex);
    watchers->all.reserve(watchers->all.size() + 1);
    tables.use();
    watchers->all.push_back({watcher.inc_ref().ptr(), views::checked_image(image), &tables});
    listening = true;
}

// If LLVM's tables can no longer be written, they stay patched, but no listener is called.
void remove_watcher(nb::handle watcher) {
    nb::object last_reference;
    const std::lock_guard lock(watchers->mutex);
    std::vector<Watching>& all = watchers->all;
    const auto at = std::ranges::find(all, watcher.ptr(), &Watching::watcher);
    if (at == all.end()) return;
    last_reference = nb::steal(at->watcher);
    patch::SharedPointers& tables = *at->tables;
    all.erase(at);
    listening = !all.empty();
    try {
        tables.give_up();
    } catch (const std::exception&) {
        // The tables stay patched.
    }
}

nb::tuple watchers_of(unsigned image) {
    std::vector<nb::object> found;
    {
        const std::lock_guard lock(watchers->mutex);
        for (const Watching& each : watchers->all)
            if (each.image == image) found.push_back(nb::borrow(each.watcher));
    }
    return nb::tuple(nb::cast(found));
}

constexpr blocks::Kind watcher_block{[](nb::handle self) { return nb::borrow(self); },
                                     [](nb::handle self, bool) { remove_watcher(self); }};

void tell_watchers(unsigned image, std::uintptr_t option, image::RawStringRef value, bool refused) {
    if (!listening.load(std::memory_order_acquire) || !python_lives()) return;
    callbacks::ask_from_llvm(Callback::option_given, [&] {
        const nb::object given =
            value.data == nullptr ? nb::object(nb::none()) : nb::object(nb::bytes(value.data, value.size));
        return nb::make_tuple(image, option, given, refused);
    });
}

std::pair<std::string, nb::str> symbol_near(std::uintptr_t address) {
    Dl_info found{};
    if (dladdr(reinterpret_cast<const void*>(address), &found) == 0) return {"", path_of("")};
    return {found.dli_sname == nullptr ? "" : found.dli_sname,
            path_of(found.dli_fname == nullptr ? "" : found.dli_fname)};
}

constexpr std::size_t most_frames = 64;

_Unwind_Reason_Code add_frame(_Unwind_Context* context, void* frames) {
    auto& found = *static_cast<std::vector<std::uintptr_t>*>(frames);
    const std::uintptr_t returns_to = _Unwind_GetIP(context);
    if (returns_to == 0) return _URC_END_OF_STACK;
    found.push_back(returns_to - 1);  // an address inside the call instruction
    return found.size() < most_frames ? _URC_NO_REASON : _URC_END_OF_STACK;
}

std::vector<std::uintptr_t> native_stack() {
    std::vector<std::uintptr_t> found;
    _Unwind_Backtrace(add_frame, &found);
    return found;
}

}  // namespace

void add_drift(nb::module_& m) {
    contain::observer = &tell_watchers;
    m.def("replace_add_occurrence", of_image(&contain::replace_add_occurrence), "image"_a, "add_occurrence"_a,
          "Return the replacement for the image's `add_occurrence` in virtual function tables. Inside a context it "
          "changes that context, elsewhere it calls LLVM's function and, while there are watchers, what was set as "
          "`option_given`.");
    blocks::add_type<watcher_block>(m, "WatcherBase");
    m.def("add_watcher", &add_watcher, "image"_a, "watcher"_a, "tables"_a,
          "Add a watcher of an image. While there is one, `tables` lead to the result of "
          "`replace_add_occurrence`.");
    m.def("remove_watcher", &remove_watcher, "watcher"_a,
          "Remove a watcher, if it is present. Removing the last one of an image restores its tables.");
    m.def("watchers", &watchers_of, "image"_a, nb::sig("def watchers(image: int) -> tuple[WatcherBase, ...]"),
          "Return the watchers of an image.");
    m.def(
        "report_unraisable",
        [](nb::handle error, nb::handle where) {
            PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
            PyErr_WriteUnraisable(where.ptr());
        },
        "error"_a, "where"_a, "Report an exception to sys.unraisablehook.");
    m.def("native_stack", &native_stack,
          "Return an address in each function that this thread executes, innermost first, at most 64.");
    m.def("symbol_near", &symbol_near, "address"_a, "(name of an exported symbol or '', path of the library or '').");
}
