// Python bindings of contain/, and calls from a thread that sets options back into Python.
#include "contexts/set_inside.hpp"
#include "intercept/parser.hpp"
#include "intercept/setters.hpp"
#include "patch/pointers.hpp"
#include "python/bindings.hpp"
#include "python/gil.hpp"
#include "python/native_calls.hpp"
#include "python/scope_block.hpp"
#include "scopes/scope.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <map>

namespace nb = nanobind;
using namespace nb::literals;
using namespace optctx;

namespace {

// See `set_setter_listeners`. Set once and never freed: LLVM may run while Python shuts down.
nb::object* not_contained_function = nullptr;
nb::object* ends_with_call_function = nullptr;
nb::object* not_set_function = nullptr;
nb::object* failed_function = nullptr;

bool python_lives() { return nb::is_alive() && !native_calls::python_is_ending(); }

template <class... Arguments>
void tell(nb::object* function, Arguments&&... arguments) noexcept {
    if (function == nullptr || !python_lives()) return;
    const WithGil gil;
    const nb::error_scope pending;  // an exception may be pending, and must be preserved
    try {
        stay_at_exit([&] { (*function)(std::forward<Arguments>(arguments)...); });
    } catch (nb::python_error& error) {
        error.discard_as_unraisable("optctx: when an option is set inside a context");
    }
}

// (name, text or None) of each occurrence, and the storage that holds the result.
using GivenOption =
    std::pair<std::vector<std::pair<std::string, std::optional<std::string>>>, native_calls::SharedSetting>;

GivenOption given_option(const contexts::Context& context, std::uint32_t slot, const values::Occurrences& values) {
    GivenOption given;
    for (const values::Occurrence& value : values.values) given.first.emplace_back(value.name, value.text);
    const std::uint32_t variable = context.space().regions()[slot].variable;
    auto setting = std::make_shared<values::Setting>();
    for (const values::Patch& patch : context.overrides())
        if (patch.slot == slot || patch.slot == variable) setting->push_back(patch);
    given.second.patches = std::move(setting);
    return given;
}

// What code gave to LLVM's setters inside the context of `owner`, which LLVM sees on this thread, or which the running
// task is in: whether it reset all options, and by slot what it gave since. None if it gave nothing.
nb::object given_inside(unsigned image, nb::handle owner) {
    contexts::Activation* activation = scopes::current_activation(views::checked_image(image));
    std::optional<contexts::SetInside> inside;
    if (activation != nullptr && scopes::current_owner(image) == owner.ptr()) {
        activation->take_in();
        inside = {activation->adopted(), activation->given()};
    } else {
        inside = contexts::set_inside(scoping::mark_of(image, owner).ptr());
    }
    if (!inside || inside->context == nullptr) return nb::none();
    nb::dict found;
    for (const auto& [slot, values] : inside->given.occurrences)
        found[nb::int_(slot)] = nb::cast(given_option(*inside->context, slot, values));
    return nb::make_tuple(inside->given.was_reset, found);
}

}  // namespace

void add_contain(nb::module_& m) {
    nb::class_<patch::SharedPointers>(m, "SharedPointers", "Pointers that are changed while they have a user.")
        .def(
            "__init__",
            [](patch::SharedPointers* self,
               const std::vector<std::tuple<std::uintptr_t, std::uintptr_t, std::uintptr_t>>& changes) {
                std::vector<patch::PointerChange> converted;
                for (const auto& [at, before, after] : changes) converted.push_back({at, before, after});
                new (self) patch::SharedPointers(std::move(converted));
            },
            "changes"_a, "`changes`: (address of the pointer, current value, new value).")
        .def_prop_ro("committed", &patch::SharedPointers::committed)
        .def("__len__", &patch::SharedPointers::size);
    nb::enum_<contain::Function>(m, "ParserFunction", "A function of LLVM's command line parser.")
        .value("parse", contain::Function::parse)
        .value("reset_all", contain::Function::reset_all)
        .value("reset_parser", contain::Function::reset_parser)
        .value("registered", contain::Function::registered);
    m.def(
        "use_registry",
        [](unsigned image, const std::string& layout) { contain::use_registry(views::checked_image(image), layout); },
        "image"_a, "layout"_a,
        "Set how the image's maps of options are laid out, by the name that `walk_registry` gave.");
    m.def(
        "intercept_parser",
        [](unsigned image, contain::Function function, std::uintptr_t address) {
            const contain::Entry entry{static_cast<std::uint8_t>(views::checked_image(image)), function};
            contain::intercept(entry, address);
            return std::pair(contain::pack(entry), reinterpret_cast<std::uintptr_t>(&contain::optctx_before_parser));
        },
        "image"_a, "function"_a, "address"_a,
        "Return (the number to pass, the function to call) for code in front of a function of LLVM's parser.");
    m.def(
        "set_setter_listeners",
        [](nb::object not_contained, nb::object ends_with_call, nb::object not_set, nb::object failed) {
            not_contained_function = new nb::object(std::move(not_contained));
            ends_with_call_function = new nb::object(std::move(ends_with_call));
            not_set_function = new nb::object(std::move(not_set));
            failed_function = new nb::object(std::move(failed));
            contain::use_wait([](const std::function<void()>& wait) {
                std::optional<WithoutGil> others_run;
                if (python_lives() && native_calls::has_gil()) others_run.emplace();
                wait();
            });
            contain::report_to({
                .not_contained = [](unsigned image,
                                    std::uintptr_t option) { tell(not_contained_function, image, option); },
                .ends_with_call = [](unsigned image,
                                     std::uintptr_t option) { tell(ends_with_call_function, image, option); },
                .not_set = [](unsigned image, std::uintptr_t option) { tell(not_set_function, image, option); },
                .failed = [](unsigned image, const char* why) { tell(failed_function, image, why); },
            });
        },
        "not_contained"_a, "ends_with_call"_a, "not_set"_a, "failed"_a,
        "Set what is called on a thread that sets an option inside a context, if the scope did not contain it: "
        "not_contained(image, address of the option), ends_with_call(image, address or 0 for a reset), "
        "not_set(image, address or 0), failed(image, why). "
        "Call once in a process.");
    m.def(
        "storage_shown",
        [](unsigned image, std::uint32_t slot) -> std::optional<std::uintptr_t> {
            contexts::Activation* activation = scopes::current_activation(views::checked_image(image));
            if (activation == nullptr) return std::nullopt;
            if (slot >= activation->shown().space().regions().size()) throw nb::index_error("no such slot");
            return reinterpret_cast<std::uintptr_t>(activation->view()[slot]);
        },
        "image"_a, "slot"_a,
        "Return where LLVM finds a region on this thread, inside a context: valid as long as nothing is set there. "
        "None "
        "outside.");
    m.def(
        "given_inside", &given_inside, "image"_a, "owner"_a,
        nb::sig("def given_inside(image: int, owner: object) -> tuple[bool, dict[int, tuple[list[tuple[str, str | "
                "None]], Setting]]] "
                "| None"),
        "Return what was given to LLVM's setters inside the context of `owner`, which LLVM sees on this thread or the "
        "task is in: (whether all options were reset, slot -> (occurrences since, their setting)), or None.");
}
