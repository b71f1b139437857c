#include "python/host_lock.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace nb = nanobind;

namespace optctx::llvmlite_lock {
namespace {

// One entry into the lock. Owns references, which leak if the thread ends with the lock held.
struct Entered {
    scopes::Ticket ticket;
    PyObject* lock;       // threading.RLock
    PyObject* callbacks;  // a list of the (at entry, at exit) pairs that were called at entry
};

thread_local std::vector<Entered> entered;

// Calls all exit callbacks, and returns the first exception.
std::optional<nb::python_error> tell_exit(nb::handle callbacks) {
    std::optional<nb::python_error> first;
    for (nb::handle each : callbacks) {
        try {
            blocks::call_with(nb::object(each[1]));
        } catch (nb::python_error& error) {
            if (!first) first.emplace(std::move(error));
        }
    }
    return first;
}

void leave_one(const Entered& left) {
    const nb::object lock = nb::steal(left.lock);
    const nb::object callbacks = nb::steal(left.callbacks);
    std::optional<nb::python_error> error = tell_exit(callbacks);
    blocks::call_method(lock, "release");
    if (error) throw *std::move(error);
}

nb::object enter(nb::handle self, scopes::Ticket ticket) {
    entered.reserve(entered.size() + 1);
    const nb::object lock = self.attr("_lock");
    nb::list told;
    blocks::call_method(lock, "acquire");  // waits without the GIL; if a signal handler raises, the lock is not taken
    entered.push_back({ticket, lock.inc_ref().ptr(), told.inc_ref().ptr()});
    try {
        for (nb::handle each : nb::list(self.attr("_cblist"))) {
            blocks::call_with(nb::object(each[0]));
            told.append(each);
        }
    } catch (nb::python_error&) {
        const Entered last = entered.back();
        entered.pop_back();
        try {
            leave_one(last);
        } catch (nb::python_error&) {
            // Report the first exception.
        }
        throw;
    }
    return nb::none();
}

void leave(nb::handle self, bool) {
    if (entered.empty()) {  // entered before `make_safe`
        std::optional<nb::python_error> error = tell_exit(nb::list(self.attr("_cblist")));
        blocks::call_method(nb::object(self.attr("_lock")), "release");
        if (error) throw *std::move(error);
        return;
    }
    const Entered last = entered.back();
    entered.pop_back();
    leave_one(last);
}

void abandon_block(nb::handle, scopes::Ticket ticket) noexcept {
    scopes::abandon_on_its_thread(ticket, &llvmlite_lock::abandon);
}

}  // namespace

const blocks::Kind block{&enter, &leave, &abandon_block};

void abandon(scopes::Ticket ticket) noexcept {
    const auto at =
        std::find_if(entered.begin(), entered.end(), [ticket](const Entered& each) { return each.ticket == ticket; });
    if (at == entered.end()) return;
    const Entered left = *at;
    entered.erase(at);
    try {
        leave_one(left);
    } catch (nb::python_error& error) {
        error.discard_as_unraisable("optctx: leaving llvmlite's lock");
    }
}

void make_safe(nb::handle lock) {
    const nb::object type = nb::borrow(reinterpret_cast<PyObject*>(Py_TYPE(lock.ptr())));
    if (nb::hasattr(type, "_optctx_safe")) return;
    nb::dict members;
    members["__slots__"] = nb::tuple();
    members["__module__"] = type.attr("__module__");
    members["__doc__"] = type.attr("__doc__");
    members["_optctx_safe"] = true;
    const nb::object derived =
        nb::borrow(reinterpret_cast<PyObject*>(&PyType_Type))(type.attr("__name__"), nb::make_tuple(type), members);
    blocks::add_methods<block>(derived);
    nb::setattr(lock, "__class__", derived);
}

}  // namespace optctx::llvmlite_lock
