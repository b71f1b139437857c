#include "python/watchers.hpp"

#include "os/fork_locks.hpp"
#include "patch/pointers.hpp"
#include "python/block.hpp"
#include "views/view.hpp"

#include <unwind.h>

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace optctx::watching {
namespace {

// A `with` block, by ticket. It may end on another thread: watchers belong to the process.
struct Entered {
    scopes::Ticket ticket;
    const void* watcher;  // compared, never used
};

struct Watchers {
    os::ForkSafeMutex mutex{os::Rank::watchers};  // never held while Python code runs
    views::PerImage<std::vector<PyObject*>> of_image;
    views::PerImage<patch::SharedPointers*> tables{};
    std::vector<Entered> entered;
    void (*listen)(bool) = nullptr;

    bool any() const noexcept {
        return std::any_of(of_image.begin(), of_image.end(), [](const auto& own) { return !own.empty(); });
    }
};

Watchers* watchers = new Watchers;  // never freed

void add_watcher(unsigned image, nb::handle watcher, patch::SharedPointers& tables) {
    const std::lock_guard lock(watchers->mutex);
    std::vector<PyObject*>& own = watchers->of_image[views::checked_image(image)];
    own.reserve(own.size() + 1);
    if (own.empty()) {
        tables.use();
        watchers->tables[image] = &tables;
    }
    if (!watchers->any()) watchers->listen(true);
    own.push_back(watcher.inc_ref().ptr());
}

// Returns whether the watcher was present. If LLVM's tables can no longer be written, they stay patched, but no
// listener is called.
bool remove_watcher(nb::handle watcher) {
    nb::object last_reference;
    const std::lock_guard lock(watchers->mutex);
    std::erase_if(watchers->entered, [watcher](const Entered& each) { return each.watcher == watcher.ptr(); });
    for (unsigned image = 0; image < views::max_images; ++image) {
        std::vector<PyObject*>& own = watchers->of_image[image];
        const auto at = std::find(own.begin(), own.end(), watcher.ptr());
        if (at == own.end()) continue;
        last_reference = nb::steal(*at);
        own.erase(at);
        if (!watchers->any()) watchers->listen(false);
        if (!own.empty()) return true;
        try {
            watchers->tables[image]->give_up();
        } catch (const std::exception&) {
            return true;
        }
        return true;
    }
    return false;
}

nb::tuple all(unsigned image) {
    std::vector<nb::object> found;
    {
        const std::lock_guard lock(watchers->mutex);
        for (PyObject* each : watchers->of_image[views::checked_image(image)]) found.push_back(nb::borrow(each));
    }
    nb::list list;
    for (nb::object& each : found) list.append(std::move(each));
    return nb::tuple(list);
}

nb::object enter(nb::handle self, scopes::Ticket ticket) {
    if (ticket) {
        const std::lock_guard lock(watchers->mutex);
        watchers->entered.push_back({ticket, self.ptr()});
    }
    return nb::borrow(self);
}

void leave(nb::handle self, bool failed) {
    if (remove_watcher(self)) blocks::call_method(self, "_finish", failed);
}

void abandon(nb::handle self, scopes::Ticket ticket) noexcept {
    {
        const std::lock_guard lock(watchers->mutex);
        if (std::erase_if(watchers->entered, [ticket](const Entered& each) { return each.ticket == ticket; }) == 0)
            return;
    }
    remove_watcher(self);
}

constexpr blocks::Kind block{&enter, &leave, &abandon};

}  // namespace

void add(nb::module_& m, void (*listen)(bool)) {
    watchers->listen = listen;
    blocks::add_methods<block>(blocks::make_type(m, "WatcherBase", {}));
    m.def("add_watcher", &add_watcher, "image"_a, "watcher"_a, "tables"_a,
          "Add a watcher of an image. While there is one, `tables` lead to the result of "
          "`replace_add_occurrence`.");
    m.def("remove_watcher", &remove_watcher, "watcher"_a,
          "Remove a watcher. Returns whether it was present. Removing the last one of an image restores its tables.");
    m.def("watchers", &all, "image"_a, nb::sig("def watchers(image: int) -> tuple[WatcherBase, ...]"),
          "Return the watchers of an image.");
}

std::string read(const Spans& spans) {
    const views::LiveView reading;
    std::string bytes;
    for (const auto& [address, size] : spans.pieces) bytes.append(reinterpret_cast<const char*>(address), size);
    return bytes;
}

namespace {

constexpr std::size_t most_frames = 64;

_Unwind_Reason_Code add_frame(_Unwind_Context* context, void* frames) {
    auto& found = *static_cast<std::vector<std::uintptr_t>*>(frames);
    const std::uintptr_t returns_to = _Unwind_GetIP(context);
    if (returns_to == 0) return _URC_END_OF_STACK;
    found.push_back(returns_to - 1);  // an address inside the call instruction
    return found.size() < most_frames ? _URC_NO_REASON : _URC_END_OF_STACK;
}

}  // namespace

std::vector<std::uintptr_t> native_stack() {
    std::vector<std::uintptr_t> found;
    _Unwind_Backtrace(add_frame, &found);
    return found;
}

}  // namespace optctx::watching
