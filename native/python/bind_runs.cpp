// Python bindings of bind/: names and conversions, and calls from a thread that runs LLVM back into Python.
#include "intercept/bound_contexts.hpp"
#include "intercept/outside.hpp"
#include "intercept/runs.hpp"
#include "python/bindings.hpp"
#include "python/bytes.hpp"
#include "python/callbacks.hpp"
#include "python/scope_block.hpp"
#include "scopes/scope.hpp"

#include <nanobind/stl/array.h>

#include <array>
#include <bit>

using callbacks::Callback;

namespace {

const void* llvm_object(std::uintptr_t address) { return reinterpret_cast<const void*>(address); }

nb::object owner_of(const std::shared_ptr<const bind::Binding>& binding) {
    return object_or_none(binding == nullptr ? nullptr : binding->owner);
}

// False where the function raises.
bool allows(Callback which, const callbacks::Arguments& arguments) {
    bool may = false;
    callbacks::ask_from_llvm(which, arguments, [&](const nb::object& answer) { may = nb::cast<bool>(answer); });
    return may;
}

bool may_run_outside(unsigned image, bool is_error) {
    return allows(Callback::may_run_outside, [&] { return nb::make_tuple(image, is_error); });
}

bool may_run(void* owner, void* here, bool is_error) {
    return allows(Callback::may_run,
                  [&] { return nb::make_tuple(object_or_none(owner), object_or_none(here), is_error); });
}

// Python answers with an object with `_native` for a context, False to ignore the text, or None to refuse it.
bind::Resolved resolve(unsigned image, std::string_view text, void* here, std::size_t before, const char* triple) {
    using Answer = bind::Resolved::Answer;
    bind::Resolved resolved{};
    callbacks::ask_from_llvm(
        Callback::resolve,
        [&] {
            scoping::drop_orphans();
            return nb::make_tuple(image, nb::bytes(text.data(), text.size()), object_or_none(here), before,
                                  nb::bytes(triple));
        },
        [&](nb::object owner) {
            if (owner.is_none()) return;
            if (owner.ptr() == Py_False) {
                resolved = {Answer::ignored};
                return;
            }
            auto context = nb::cast<std::shared_ptr<contexts::Context>>(owner.attr("_native"));
            resolved = {Answer::context, std::move(context), owner.release().ptr()};
        });
    return resolved;
}

void cannot_enter(void* owner, const char* why) {
    callbacks::ask_from_llvm(Callback::cannot_run_in, [&] { return nb::make_tuple(object_or_none(owner), why); });
}

std::tuple<nb::object, bool, nb::object> values_here(unsigned image) {
    const contexts::Context* context = scopes::current_context(views::checked_image(image));
    if (context == nullptr) return {nb::none(), false, nb::none()};
    const bool is_watched = context->reads() != nullptr || views::substitute(image) != nullptr;
    return {to_bytes(context->key()), is_watched || scopes::wrote(image), object_or_none(scopes::seen(image).owner)};
}

std::pair<std::uint64_t, bool> entry_here(unsigned image) {
    const contexts::Activation* activation = scopes::seen(views::checked_image(image)).activation;
    return {activation == nullptr ? 0 : activation->entry(), scopes::wrote(image)};
}

std::size_t set_outside_rule(unsigned image, bind::Outside rule, std::shared_ptr<contexts::Context> defaults,
                             const nb::object& owner) {
    std::unique_ptr<const bind::Binding> binding;
    if (defaults != nullptr)
        binding = std::make_unique<const bind::Binding>(std::move(defaults), bind::OnMismatch::switch_over,
                                                        nb::object(owner).release().ptr());
    else if (rule == bind::Outside::defaults)
        throw nb::value_error("this rule needs the registered values");
    const std::size_t running = bind::set_outside_rule(views::checked_image(image), rule, std::move(binding));
    scoping::drop_orphans();
    return running;
}

void configure_bindings(unsigned image, const std::array<std::uintptr_t, 8>& calls) {
    bind::configure(views::checked_image(image), std::bit_cast<bind::LlvmCalls>(calls));
}

}  // namespace

void add_runs(nb::module_& m) {
    bind::judge = {may_run_outside, may_run, resolve, cannot_enter};
    nb::enum_<bind::OnMismatch>(m, "OnMismatch")
        .value("switch", bind::OnMismatch::switch_over)
        .value("warn", bind::OnMismatch::warn)
        .value("error", bind::OnMismatch::error);
    m.def("configure_bindings", &configure_bindings, "image"_a, "calls"_a,
          "`calls`: LLVMGetModuleContext, -FirstFunction, -NextFunction, -GlobalParent, -StringAttributeAtIndex, "
          "-StringAttributeValue, LLVMGetTarget, LLVMGetTargetMachineTriple, by address.");
    m.def("count_attributes", of_image(&bind::count_attributes), "image"_a, "count"_a,
          "Set whether the function attribute \"optctx\" counts in the image, on every thread.");
    m.def("attributes_switch", of_image(&bind::attributes_switch), "image"_a,
          "Return the address of the byte that is 0 unless they count.");
    nb::enum_<bind::Outside>(m, "Outside")
        .value("allow", bind::Outside::allow)
        .value("warn", bind::Outside::warn)
        .value("error", bind::Outside::error)
        .value("defaults", bind::Outside::defaults);
    m.def("outside_rule", of_image(&bind::outside_rule), "image"_a,
          "Return the rule for LLVM's work outside every scope.");
    m.def("set_outside_rule", &set_outside_rule, "image"_a, "rule"_a, "defaults"_a.none(), "owner"_a.none(),
          "Change the rule, on every thread. Returns the number of runs outside every scope that go on under another "
          "rule; if it is not 0, nothing was changed. `defaults`: a context of the registered values, with its owner.");
    m.def("reset_outside_rule", of_image(&bind::reset_outside_rule), "image"_a,
          "Allow work outside every scope again, whatever is going on.");
    m.attr("MOST_ATTRIBUTES") = bind::most_attributes;
    m.def(
        "bind",
        [](std::uintptr_t llvm_context, std::shared_ptr<contexts::Context> context, nb::object owner,
           bind::OnMismatch on_mismatch) {
            scoping::drop_orphans();
            const unsigned image = context->space().image();
            const auto binding =
                std::make_shared<const bind::Binding>(std::move(context), on_mismatch, owner.release().ptr());
            for (;;) {
                if (!views::is_attached(image)) scoping::attach(image);
                if (!bind::bind(llvm_object(llvm_context), binding)) return false;
                if (views::is_attached(image)) return true;
                bind::unbind(image, llvm_object(llvm_context));  // another thread detached before this one was counted
            }
        },
        "llvm_context"_a, "context"_a, "owner"_a, "on_mismatch"_a,
        "Bind an LLVMContext of the context's image. Returns False if it is already bound.");
    m.def(
        "unbind",
        [](unsigned image, std::uintptr_t llvm_context) {
            auto binding = bind::unbind(views::checked_image(image), llvm_object(llvm_context));
            const nb::object owner = owner_of(binding);
            binding.reset();
            scoping::drop_orphans();
            return owner;
        },
        "image"_a, "llvm_context"_a, "Unbind an LLVMContext. Returns the owner of the binding, or None.");
    m.def(
        "bound",
        [](unsigned image, std::uintptr_t llvm_context) {
            return owner_of(bind::bound(views::checked_image(image), llvm_object(llvm_context)));
        },
        "image"_a, "llvm_context"_a, "Return the owner of the LLVMContext's binding, or None.");
    m.def(
        "bound_count", [] { return sum_over_images(&bind::bound_count); },
        "Return the number of bound LLVMContexts in this process.");
    nb::class_<bind::Binding>(m, "Binding", "A binding of an LLVMContext.");
    m.def(
        "binding_of_module",
        [](unsigned image, std::uintptr_t module) {
            return bind::bound_to_module(views::checked_image(image), llvm_object(module));
        },
        "image"_a, "module"_a, "Return the binding of the module's LLVMContext, or None.");
    m.def(
        "expecting_llvm_contexts",
        [](unsigned image, std::vector<std::shared_ptr<const bind::Binding>> bindings, nb::handle function,
           const nb::args& arguments) {
            const bind::Expecting expecting(views::checked_image(image), std::move(bindings));
            return blocks::call(function, arguments);
        },
        "image"_a, "bindings"_a, "function"_a, "arguments"_a,
        nb::sig("def expecting_llvm_contexts(image: int, bindings: collections.abc.Sequence[Binding | None], "
                "function: collections.abc.Callable[..., R], /, *arguments: object) -> R"),
        "Call the function and bind the LLVMContexts that the image makes for LLJIT on this thread during the call, in "
        "this order; None leaves one unbound. Afterwards restores the bindings that an outer call still expects.");
    m.def("values_here", &values_here, "image"_a,
          nb::sig("def values_here(image: int) -> tuple[bytes | None, bool, typing.Any]"),
          "Return (what tells apart the values that LLVM reads on this thread, or None outside every context; whether "
          "what was made under equal values has to be made anew, to be right and to have its reads seen; the owner of "
          "the context or None).");
    m.def("entry_here", &entry_here, "image"_a,
          "Return (the number of this thread's entry into the context that LLVM reads, or 0; whether LLVM has written "
          "to options in it).");
    m.def(
        "run_early",
        [](unsigned image, std::uintptr_t subject, bind::Subject kind, nb::handle function, const nb::args& arguments) {
            const bind::Early run(views::checked_image(image), kind, reinterpret_cast<void*>(subject));
            return run.allowed() ? blocks::call(function, arguments) : nb::object(nb::none());
        },
        "image"_a, "subject"_a, "kind"_a, "function"_a, "arguments"_a,
        nb::sig("def run_early(image: int, subject: int, kind: Subject, "
                "function: collections.abc.Callable[..., R], /, *arguments: object) -> R | None"),
        "Call the function as part of LLVM's run on a module or a function (`subject`): under the values that are "
        "bound to the LLVMContext. Calls nothing if the run is refused, and leaves the reason for the enclosing call.");
}
