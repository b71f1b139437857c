// A compilation outside llvmlite's calls. One native call holds and makes everything that belongs to it.
#include "intercept/bound_contexts.hpp"
#include "intercept/runs.hpp"
#include "os/keyed_locks.hpp"
#include "python/bindings.hpp"
#include "python/block.hpp"
#include "python/bytes.hpp"
#include "python/compile_calls.hpp"
#include "python/gil.hpp"
#include "python/scope_block.hpp"

#include <nanobind/stl/map.h>

#include <functional>

namespace {

// While it lives, the image sees the scope of this thread's task. The constructor raises what entering a context
// raises, with nothing changed.
class InTask {
public:
    explicit InTask(unsigned image) { scoping::begin_in_task(views::checked_image(image)); }
    InTask(const InTask&) = delete;
    InTask& operator=(const InTask&) = delete;
    ~InTask() {
        const nb::error_scope pending;
        scoping::end_call();
    }
};

// Returns the owner of the LLVMContext's binding if its mismatch mode is "switch", otherwise None. Needed for optctx's
// own compilations, which also read options before and after a pass manager runs.
nb::object travelling(unsigned image, std::uintptr_t llvm_context) {
    const auto binding = bind::bound(image, reinterpret_cast<const void*>(llvm_context));
    if (binding == nullptr || binding->on_mismatch != bind::OnMismatch::switch_over) return nb::none();
    return nb::borrow(static_cast<PyObject*>(binding->owner));
}

// A context manager of Python code, such as llvmlite's lock.
constexpr blocks::Kind of_python{
    [](nb::handle self) { return blocks::call_method(self, "__enter__"); },
    [](nb::handle self, bool) { blocks::call_method(self, "__exit__", nb::none(), nb::none(), nb::none()); }};

// Holds a scope or a lock from C++ as a `with` statement does, and leaves it without raising.
class Inside {
public:
    Inside(nb::object manager, const blocks::Kind& kind) : manager_(std::move(manager)), leave_(kind.leave) {
        if (!manager_.is_none()) kind.enter(manager_);
    }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    ~Inside() {
        const nb::error_scope pending;
        if (manager_.is_none()) return;
        try {
            leave_(manager_, false);
        } catch (nb::python_error& error) {
            error.discard_as_unraisable("optctx: leaving what a compilation was inside of");
        }
    }

private:
    nb::object manager_;
    void (*leave_)(nb::handle, bool);
};

// Runs `work` with exclusive use, among compilations of optctx, of the LLVMContext and the TargetMachine, which may be
// 0; inside the context bound to the LLVMContext, if any. `llvmlite_lock`: llvmlite's if the LLVMContext is the global
// one, which every user of llvmlite shares; otherwise None. It is taken last, because the garbage collector may take it
// at any moment to close a module. Returns None, with nothing done, if the rule for work outside every scope forbids it
// (intercept/outside.hpp). `work` may throw nanobind::python_error.
nb::object run(unsigned image, std::uintptr_t llvm_context, std::uintptr_t machine, nb::object llvmlite_lock,
               const std::function<nb::object()>& work) {
    std::vector<std::uintptr_t> keys{llvm_context};
    if (machine != 0) keys.push_back(machine);
    nb::object scope, result;
    {
        const InTask task(image);
        const os::Locked locked(std::move(keys), {&wait_without_gil, &run_signal_handlers});
        const Inside llvmlite(std::move(llvmlite_lock), of_python);
        scope = travelling(image, llvm_context);
        const Inside travels(scope, scoping::unjudged);
        const bind::Early outside(image, reinterpret_cast<const void*>(llvm_context));
        result = outside.allowed() ? work() : nb::none();
    }
    if (!scope.is_none()) scoping::judge(scope, false);
    return result;
}

compile::Pointer pointer(std::uintptr_t address) { return reinterpret_cast<compile::Pointer>(address); }

nb::object to_python(const compile::Outcome& outcome) {
    const nb::object failure = outcome.failure ? nb::object(to_bytes(*outcome.failure)) : nb::none();
    nb::list errors;
    for (const std::string& each : outcome.errors) errors.append(to_bytes(each));
    return nb::make_tuple(failure, to_bytes(outcome.code), errors);
}

nb::bytes verify(const compile::Llvm& llvm, std::uintptr_t context, nb::object llvmlite_lock, std::uintptr_t module) {
    const InTask task(llvm.image);
    const os::Locked locked({context}, {&wait_without_gil, &run_signal_handlers});
    const Inside llvmlite(std::move(llvmlite_lock), of_python);
    return to_bytes(without_gil([&] { return compile::verify(llvm, pointer(module)); }));
}

nb::object run_passes(const compile::Llvm& llvm, std::uintptr_t context, nb::object llvmlite_lock,
                      std::uintptr_t module, std::uintptr_t machine, const std::vector<compile::Setting>& tuning,
                      const nb::bytes& text) {
    const std::string pipeline(text.c_str(), text.size());
    return run(llvm.image, context, machine, std::move(llvmlite_lock), [&] {
        return to_python(without_gil([&] {
            return compile::run_passes(llvm, pointer(context), pointer(module), pointer(machine), tuning, pipeline);
        }));
    });
}

nb::object emit(const compile::Llvm& llvm, std::uintptr_t context, nb::object llvmlite_lock, std::uintptr_t module,
                std::uintptr_t machine, bool as_object) {
    return run(llvm.image, context, machine, std::move(llvmlite_lock), [&] {
        return to_python(without_gil(
            [&] { return compile::emit(llvm, pointer(context), pointer(module), pointer(machine), as_object); }));
    });
}

}  // namespace

void add_compile(nb::module_& m) {
    nb::class_<compile::Llvm>(m, "Llvm", "Addresses of functions in a library of llvmlite's.")
        .def(nb::init<unsigned, const std::map<std::string, std::uintptr_t>&>(), "image"_a, "addresses"_a);
    m.def("verify", &verify, "llvm"_a, "context"_a, "llvmlite_lock"_a.none(), "module"_a,
          "Return what LLVM's verifier says of a broken module; nothing of another one. `llvmlite_lock`: as in "
          "`run_passes`.");
    m.def("run_passes", &run_passes, "llvm"_a, "context"_a, "llvmlite_lock"_a.none(), "module"_a, "machine"_a,
          "tuning"_a, "text"_a,
          nb::sig("def run_passes(llvm: Llvm, context: int, llvmlite_lock: object, module: int, machine: int, "
                  "tuning: collections.abc.Sequence[tuple[int, int]], text: bytes) "
                  "-> tuple[bytes | None, bytes, list[bytes]] | None"),
          "Run a pipeline. Returns (why it does not parse or None, no code, errors), or None if the rule for work "
          "outside every scope forbids it. `llvmlite_lock`: llvmlite's lock, or None "
          "unless the LLVMContext is the global one. `machine` may be 0. `tuning`: (address of a function that sets a "
          "field of PipelineTuningOptions, value) for each field to set.");
    m.def("emit", &emit, "llvm"_a, "context"_a, "llvmlite_lock"_a.none(), "module"_a, "machine"_a, "as_object"_a,
          nb::sig("def emit(llvm: Llvm, context: int, llvmlite_lock: object, module: int, machine: int, "
                  "as_object: bool) -> tuple[bytes | None, bytes, list[bytes]] | None"),
          "Emit code. Returns (why there is none or None, code, errors), or None as `run_passes` does.");
    m.def(
        "compile_alone",
        [](unsigned image, std::uintptr_t context, std::uintptr_t machine, nb::object llvmlite_lock,
           nb::handle function, const nb::args& arguments) {
            return run(image, context, machine, std::move(llvmlite_lock),
                       [&] { return blocks::call(function, arguments); });
        },
        "image"_a, "context"_a, "machine"_a, "llvmlite_lock"_a.none(), "function"_a, "arguments"_a,
        nb::sig("def compile_alone(image: int, context: int, machine: int, llvmlite_lock: object, "
                "function: collections.abc.Callable[..., R], /, *arguments: object) -> R"),
        "Call the function with the locks and the scope of `run_passes`. For tests.");
    m.def(
        "run_in_task",
        [](unsigned image, nb::handle function, const nb::args& arguments) {
            const InTask task(image);
            return blocks::call(function, arguments);
        },
        nb::sig("def run_in_task(image: int, function: collections.abc.Callable[..., R], /, *arguments: object) -> R"),
        "Call the function in the scope of the task.");
}
