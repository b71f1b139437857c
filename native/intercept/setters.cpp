#include "intercept/setters.hpp"

#include "contexts/activation.hpp"
#include "scopes/scope.hpp"
#include "values/debugging.hpp"
#include "views/view.hpp"

#include <cstddef>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <utility>

namespace optctx::contain {
namespace {

using contexts::Activation;
using contexts::Context;
using contexts::Given;
using image::RawStringRef;
using values::Occurrence;

// Whether LLVM's parser refused a value and said why; the context shows what it showed before then. nullopt: LLVM's own
// function is to do the work, for the whole process.
using Refused = std::optional<bool>;

std::string text_of(RawStringRef text) { return {text.data, text.size}; }

// The scope that this thread is inside has these values from now on.
void show(Activation& activation, unsigned image, std::uintptr_t option, std::shared_ptr<Context> context, Given given,
          bool fresh) {
    const scopes::Seen::Lasts lasts = scopes::seen(image).lasts;
    if (lasts == scopes::Seen::Lasts::call) reporter.ends_with_call(image, option);
    activation.adopt(std::move(context), std::move(given), fresh);
    if (lasts == scopes::Seen::Lasts::scope && option != 0) reporter.contained(image, option);
}

Refused give(Activation& activation, unsigned image, std::uintptr_t option, Occurrence value, bool multi) {
    values::Space& space = activation.shown().space();
    const std::optional<std::uint32_t> slot = activation.slot_of(option);
    if (!slot || multi) {
        reporter.not_contained(image, option);
        return std::nullopt;
    }
    Given given = activation.given();
    values::add(given.occurrences[*slot], space.regions()[*slot].kind, std::move(value));
    const values::Occurrences all = given.occurrences[*slot];
    try {
        const Context& shown = activation.shown();
        const values::Setting setting = space.parse(*slot, all);
        show(activation, image, option, shown.with(setting), std::move(given), false);
    } catch (const values::FatalParseError& error) {
        // LLVM has no name of a program to begin with where optctx parses, nor where llvmlite does.
        std::fprintf(stderr, "LLVM ERROR: %s\n", error.what());
        return true;
    } catch (const values::ParseError&) {
        space.complain(*slot, all);
        return true;
    }
    return false;
}

// Changes the scope that this thread is inside, if any. If something goes wrong, it sets nothing and reports why. Must
// not throw: frames of LLVM are below.
template <class Change>
Refused change_scope(unsigned image, const Change& change) noexcept {
    Activation* activation = scopes::seen(image).activation;
    if (activation == nullptr) return std::nullopt;
    try {
        return change(*activation);
    } catch (const std::exception& error) {
        reporter.failed(image, error.what());
        return false;
    }
}

using AddOccurrence = bool (*)(void*, unsigned, RawStringRef, RawStringRef, bool);

views::PerImage<AddOccurrence> originals{};  // LLVM's own

// Does LLVM's own work on an object of its own.
bool give_process_wide(unsigned image, void* option, unsigned position, RawStringRef name, RawStringRef value,
                       bool multi) {
    os::ForkSafeLock storage;
    if (values::Space* space = values::space_of(image))
        storage = space->hold_for_parse(reinterpret_cast<std::uintptr_t>(option));
    return originals[image](option, position, name, value, multi);
}

// A value for an option of LLVM's own objects. Returns whether LLVM refused it.
bool set(unsigned image, void* option, unsigned position, RawStringRef name, RawStringRef value, bool multi) {
    const auto address = reinterpret_cast<std::uintptr_t>(option);
    const Refused here = change_scope(image, [&](Activation& activation) {
        Occurrence given{text_of(name), std::nullopt};
        if (value.data != nullptr) given.text = text_of(value);  // otherwise it is a flag without a value
        return give(activation, image, address, std::move(given), multi);
    });
    if (here) return *here;
    const bool refused = give_process_wide(image, option, position, name, value, multi);
    values::follow_debugging(image);
    observer(image, address, value, refused);
    return refused;
}

// Has LLVM's signature, so the tables can point at it directly and no machine code is needed. LLVM passes nothing to it
// that tells its image, so each image has a function of its own.
template <unsigned image>
bool add_occurrence(void* option, unsigned position, RawStringRef name, RawStringRef value, bool multi) {
    return set(image, option, position, name, value, multi);
}

template <std::size_t... images>
constexpr views::PerImage<AddOccurrence> make_replacements(std::index_sequence<images...>) {
    return {&add_occurrence<images>...};
}
constexpr auto replacements = make_replacements(std::make_index_sequence<views::max_images>{});

}  // namespace

bool reset(unsigned image) noexcept {
    const Refused outcome = change_scope(image, [image](Activation& activation) {
        show(activation, image, 0, activation.shown().with_registered_values(), Given{{}, true}, true);
        return false;
    });
    return outcome.has_value();
}

std::uintptr_t replace_add_occurrence(unsigned image, std::uintptr_t add_occurrence_at) {
    originals[image] = reinterpret_cast<AddOccurrence>(add_occurrence_at);
    return reinterpret_cast<std::uintptr_t>(replacements[image]);
}

}  // namespace optctx::contain
