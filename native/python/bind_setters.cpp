// Python bindings of contain/, and calls from a thread that sets options back into Python.
#include "contexts/activation.hpp"
#include "intercept/parser.hpp"
#include "intercept/setters.hpp"
#include "python/bindings.hpp"
#include "python/bytes.hpp"
#include "python/callbacks.hpp"
#include "python/gil.hpp"
#include "python/scope_block.hpp"
#include "scopes/scope.hpp"

using callbacks::Callback;

namespace {

// Tells Python what a scope did not contain, by the address of the option, or 0 for a reset; or why something failed.
template <Callback which, class What>
void tell(unsigned image, What what) noexcept {
    callbacks::tell(which, [&] { return nb::make_tuple(image, what); });
}

// Tells Python whose context contained a value.
void tell_contained(unsigned image, std::uintptr_t address) noexcept {
    callbacks::tell(Callback::contained,
                    [&] { return nb::make_tuple(image, address, object_or_none(scopes::seen(image).owner)); });
}

// (name, text or None) of each occurrence, and the storage that holds the result.
using GivenOption = std::pair<std::vector<std::pair<std::string, std::optional<values::Text>>>, SharedSetting>;

using GivenOptions = std::vector<std::pair<std::uint32_t, GivenOption>>;

GivenOption given_option(const contexts::Context& context, std::uint32_t slot, const values::Occurrences& values) {
    GivenOption given;
    for (const auto& [name, text] : values.values)
        given.first.emplace_back(name, text ? std::optional(values::Text{*text}) : std::nullopt);
    const std::uint32_t variable = context.space().regions()[slot].variable;
    auto setting = std::make_shared<values::Setting>();
    for (const values::Patch& patch : context.overrides())
        if (patch.slot == slot || patch.slot == variable) setting->push_back(patch);
    given.second.patches = std::move(setting);
    return given;
}

// The overrides of a context by slot, as Python made them or LLVM's setters were given them.
GivenOptions overrides_of(const contexts::Context& context) {
    GivenOptions found;
    for (const values::Patch& patch : context.overrides())
        if (context.space().regions()[patch.slot].role == values::Role::option)
            found.emplace_back(patch.slot, given_option(context, patch.slot, patch.block->given));
    return found;
}

nb::object given_inside(unsigned image, nb::handle owner) {
    auto [activation, shown, lasts] = scopes::seen(views::checked_image(image));
    if (activation == nullptr || shown != owner.ptr()) activation = scoping::activation_of(image, owner);
    if (activation == nullptr || activation->adopted() == nullptr) return nb::none();
    nb::dict found;
    const auto& given = activation->given().occurrences;
    const contexts::Context& adopted = *activation->adopted();
    for (const values::Patch& patch : adopted.overrides())  // the order decides between debug and debug-only
        if (const auto at = given.find(patch.slot); at != given.end())
            found[nb::int_(patch.slot)] = nb::cast(given_option(adopted, patch.slot, at->second));
    return nb::make_tuple(activation->given().was_reset, found);
}

}  // namespace

void add_setters(nb::module_& m) {
    m.def("use_parser", of_image(&contain::use_parser), "image"_a, "address"_a,
          "Set where LLVM's parser of command lines is, before it is intercepted.");
    contain::wait_for_parser = &wait_without_any_gil;
    contain::reporter = {&tell<Callback::not_contained>, &tell<Callback::ends_with_call>, &tell_contained,
                         &tell<Callback::failed>, &tell<Callback::cannot_make_machine>};
    m.def("overrides_of", &overrides_of, "context"_a,
          "Return [(slot, (occurrences, setting))] of what a context sets.");
    m.def(
        "thread_scope",
        [](unsigned image) -> std::shared_ptr<contexts::Context> {
            const auto [activation, owner, lasts] = scopes::seen(views::checked_image(image));
            if (activation == nullptr || lasts != scopes::Seen::Lasts::scope_of_thread) return nullptr;
            return activation->shown().shared_from_this();
        },
        "image"_a, nb::sig("def thread_scope(image: int) -> Context | None"),
        "Return the context that LLVM sees on this thread if a scope of C++ code shows it; None otherwise.");
    m.def(
        "given_inside", &given_inside, "image"_a, "owner"_a,
        nb::sig("def given_inside(image: int, owner: object) -> tuple[bool, dict[int, tuple[list[tuple[str, str | "
                "None]], Setting]]] "
                "| None"),
        "Return what was given to LLVM's setters inside the context of `owner`, which LLVM sees on this thread or the "
        "task is in: (whether all options were reset, slot -> (occurrences since, their setting)), or None.");
}
