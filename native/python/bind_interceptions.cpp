// Python bindings of the table of interceptions: what each row says, and the code and pointers that lead to optctx. And
// of what one kind of them makes: TargetMachines that match option values.
#include "intercept/interception.hpp"
#include "intercept/machines.hpp"
#include "intercept/parser.hpp"
#include "intercept/runs.hpp"
#include "patch/pointers.hpp"
#include "python/bindings.hpp"
#include "python/block.hpp"
#include "python/bytes.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/variant.h>

#include <algorithm>
#include <bit>
#include <map>
#include <variant>

namespace {

using intercept::Handler;

using Asked = std::variant<std::pair<bind::Subject, bind::Skip>, machine::Use, contain::Function>;

std::uint32_t pack(unsigned image, std::uint8_t argument, const Asked& asked) {
    intercept::Interception which{static_cast<std::uint8_t>(views::checked_image(image)), Handler::run, argument, 0, 0};
    if (const auto* work = std::get_if<0>(&asked)) {
        which.detail = static_cast<std::uint8_t>(work->first) & 0xF;
        which.skip = static_cast<std::uint8_t>(work->second) & 0xF;
    } else if (const auto* use = std::get_if<machine::Use>(&asked)) {
        which.handler = Handler::machine;
        which.detail = static_cast<std::uint8_t>(*use) & 0xF;
    } else {
        which.handler = Handler::parser;
        which.detail = static_cast<std::uint8_t>(std::get<contain::Function>(asked)) & 0xF;
    }
    return std::bit_cast<std::uint32_t>(which);
}

void make(patch::SharedPointers* self,
          const std::vector<std::tuple<std::uintptr_t, std::uintptr_t, std::uintptr_t>>& changes) {
    std::vector<patch::PointerChange> converted;
    for (const auto& [at, before, after] : changes) converted.push_back({at, before, after});
    new (self) patch::SharedPointers(std::move(converted));
}

void configure_machines(unsigned image, const std::map<std::string, std::uintptr_t>& calls,
                        std::vector<std::uintptr_t> makers, std::uintptr_t end) {
    std::ranges::sort(makers);
    machine::configure(views::checked_image(image), {.calls = calls, .makers = std::move(makers), .end = end});
}

}  // namespace

void add_interceptions(nb::module_& m) {
    nb::enum_<bind::Subject>(m, "Subject")
        .value("module", bind::Subject::module)
        .value("function", bind::Subject::function)
        .value("llvm_context_that_begins", bind::Subject::llvm_context_that_begins)
        .value("llvm_context_that_ends", bind::Subject::llvm_context_that_ends)
        .value("contents_that_end", bind::Subject::contents_that_end)
        .value("unfinished", bind::Subject::unfinished)
        .value("machine", bind::Subject::machine);
    nb::enum_<bind::Skip>(m, "Skip")
        .value("never", bind::Skip::never)
        .value("empty_manager", bind::Skip::empty_manager)
        .value("return_zero", bind::Skip::return_zero)
        .value("fail_with_text", bind::Skip::fail_with_text)
        .value("leave_unfinished", bind::Skip::leave_unfinished);
    nb::enum_<machine::Use>(m, "MachineUse")
        .value("work", machine::Use::work)
        .value("begin", machine::Use::begin)
        .value("end", machine::Use::end)
        .value("reset_options", machine::Use::reset_options)
        .value("emit", machine::Use::emit)
        .value("lowering", machine::Use::lowering);
    nb::enum_<contain::Function>(m, "ParserFunction", "A function of LLVM's command line parser.")
        .value("parse", contain::Function::parse)
        .value("reset", contain::Function::reset);
    m.def("pack_interception", &pack, "image"_a, "argument"_a, "handler"_a,
          "Pack what the code in front of an intercepted function passes to `interceptors()[0]`. `argument`: the index "
          "of what the handler is about. `handler`: (Subject, Skip), MachineUse or ParserFunction.");
    m.def(
        "interceptors",
        [] {
            return std::tuple(reinterpret_cast<std::uintptr_t>(&intercept::optctx_before),
                              reinterpret_cast<std::uintptr_t>(&intercept::optctx_after), intercept::skip_call);
        },
        "Return the addresses of the functions that run before and after an intercepted function, and the result that "
        "skips it.");
    nb::class_<patch::SharedPointers>(m, "SharedPointers", "Pointers that are changed while they have a user.")
        .def("__init__", &make, "changes"_a, "`changes`: (address of the pointer, current value, new value).")
        .def_prop_ro("committed", &patch::SharedPointers::committed)
        .def("__len__", &patch::SharedPointers::size);
    m.def(
        "place_code",
        [](const nb::bytes& code, std::uintptr_t begin, std::uintptr_t end) {
            return patch::place_code(unpacked<std::uint8_t>(code), begin, end);
        },
        "code"_a, "near_begin"_a, "near_end"_a,
        "Copy the code to executable memory that is never freed. Returns its address.");
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
