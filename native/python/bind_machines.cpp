// Python bindings of machine/: names and conversions.
#include "intercept/machines.hpp"
#include "python/bindings.hpp"
#include "python/block.hpp"
#include "python/callbacks.hpp"

#include <nanobind/stl/map.h>

#include <algorithm>
#include <map>

namespace {

void cannot_make(unsigned image, const char* why) {
    callbacks::tell(callbacks::Callback::cannot_make_machine, [&] { return nb::make_tuple(image, why); });
}

void configure_machines(unsigned image, const std::map<std::string, std::uintptr_t>& calls,
                        std::vector<std::uintptr_t> makers, std::uintptr_t end) {
    std::ranges::sort(makers);
    machine::configure(views::checked_image(image), {.calls = calls, .makers = std::move(makers), .end = end},
                       cannot_make);
}

}  // namespace

void add_machines(nb::module_& m) {
    m.def("configure_machines", &configure_machines, "image"_a, "calls"_a, "makers"_a, "end"_a,
          "Set LLVM's functions. `calls`: addresses by the names of native/intercept/machine_copies.hpp. `makers`: of "
          "those that make each target's machines. `end`: of the library. Raises RuntimeError if a check of the image "
          "fails.");
    m.def(
        "copying_machine",
        [](std::uintptr_t machine, nb::handle function, const nb::args& arguments) {
            const machine::Copying copying(reinterpret_cast<const void*>(machine));
            return blocks::call(function, arguments);
        },
        "machine"_a, "function"_a, "arguments"_a,
        nb::sig("def copying_machine(machine: int, function: collections.abc.Callable[..., R], /, "
                "*arguments: object) -> R"),
        "Call the function. The TargetMachines that LLVM makes on this thread during the call have a copy of the "
        "TargetOptions of `machine`: theirs count as those that the program passed for that one.");
}
