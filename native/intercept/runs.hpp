// Follows LLVM as it starts to work on a module or a function: the thread's view switches to the context bound to the
// LLVMContext, and to that of the function's attribute.
#pragma once

#include "contexts/context.hpp"
#include "intercept/bound_contexts.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace optctx::bind {

// The argument of an intercepted function that identifies what it works on.
enum class Subject : std::uint8_t {
    module,
    function,
    llvm_context_that_begins,  // gets the next binding that this thread expects
    llvm_context_that_ends,
    contents_that_end,  // of an LLVMContext: its LLVMContextImpl
    machine,            // a TargetMachine; the function is called for the machine in force, and is a run of its own
    unfinished,         // works for a function with Skip::leave_unfinished; skipped if that was skipped
};

// How to prevent a function from doing its work if the run is not allowed. `fail_with_text` is for emission only, whose
// argument 0 is a TargetMachine.
enum class Skip : std::uint8_t {
    never,
    empty_manager,     // replace argument 1, a new pass manager, by one without passes
    return_zero,       // return 0: "nothing changed", or no value at all
    fail_with_text,    // return 1 and set argument 4 to a malloc'ed message, as LLVM's C API does if emission fails
    leave_unfinished,  // like return_zero; argument 0 is left without what the function would have made
};

// Addresses of LLVM's C API in the image.
struct LlvmCalls {
    void* (*module_context)(void* module);
    void* (*first_function)(void* module);
    void* (*next_function)(void* function);
    void* (*function_module)(void* function);
    void* (*string_attribute)(void* function, unsigned index, const char* key, unsigned size);
    const char* (*string_attribute_value)(void* attribute, unsigned* size);
    const char* (*module_triple)(void* module);
    char* (*machine_triple)(void* machine);  // malloc'ed
};

// The outcome for the text of an attribute.
struct Resolved {
    // refused: nothing runs, and the enclosing call reports why. ignored: the function runs as if without the
    // attribute.
    enum class Answer : std::uint8_t { refused, ignored, context };
    Answer answer = Answer::refused;
    std::shared_ptr<contexts::Context> context{};
    void* owner = nullptr;  // of the context; a reference that goes to scopes::add_orphan at the end
};

// The maximum number of different texts of one module that the judge resolves. It sees one more, to refuse or ignore;
// further texts are ignored.
inline constexpr std::size_t most_attributes = 1024;

// Decisions by code that knows names and values. Called on the thread that runs LLVM; must not throw.
struct Judge {
    // Whether LLVM may run outside every scope in the image, where the rule asks for a report.
    bool (*may_run_outside)(unsigned image, bool is_error);
    // Whether a module bound to `owner` may run in the scope of `here` (null: outside any scope).
    bool (*may_run)(void* owner, void* here, bool is_error);
    // Resolves the options in `text` on top of that scope, for a target. `before`: number of other texts of the module
    // so far.
    Resolved (*resolve)(unsigned image, std::string_view text, void* here, std::size_t before, const char* triple);
    // Makes the enclosing call report why the context of `owner` could not be entered.
    void (*cannot_enter)(void* owner, const char* why);
};
inline Judge judge{};  // set before anything is redirected

// Whether the function attribute "optctx" counts in the image, on every thread. Initially it does not.
void count_attributes(unsigned image, bool count) noexcept;
// Returns the address of the byte that is 0 unless it counts, for thunks of functions that run inside a run.
std::uintptr_t attributes_switch(unsigned image) noexcept;
// Call once for each image, before anything is redirected.
void configure(unsigned image, const LlvmCalls& calls);

// Returns the binding of a module's LLVMContext, or null.
std::shared_ptr<const Binding> bound_to_module(unsigned image, const void* module) noexcept;
// While it lives, binds the LLVMContexts that the image constructs on this thread, in this order, if their construction
// is intercepted; null leaves one unbound. What an outer one expects in the image waits for its end.
class Expecting {
public:
    Expecting(unsigned image, std::vector<std::shared_ptr<const Binding>> bindings);
    Expecting(const Expecting&) = delete;
    Expecting& operator=(const Expecting&) = delete;
    ~Expecting();
};

// Work that begins before LLVM itself begins it, so that what LLVM makes for it is made under the right values. The
// functions that are intercepted find it and begin none of their own.
class Early {
public:
    // A run on a module or a function, as `kind` says. Does nothing in an image whose functions are not intercepted, or
    // inside a run on the same LLVMContext.
    Early(unsigned image, Subject kind, void* subject);
    // Work of optctx's own: outside every scope it follows the rule (intercept/outside.hpp). Does nothing inside one.
    Early(unsigned image, const void* llvm_context);
    Early(const Early&) = delete;
    Early& operator=(const Early&) = delete;
    ~Early();
    // False: the judge refused the work and has left the reason for the enclosing call.
    bool allowed() const noexcept { return allowed_; }

private:
    std::uint64_t steps_ = 0;
    bool allowed_ = true;
};

// Runs before and after an intercepted function (intercept/interception.hpp). `argument`: index of the subject.
std::uint64_t before(unsigned image, Subject kind, Skip skip, std::uint8_t argument, std::uint64_t* arguments);
void after(std::uint64_t steps);

}  // namespace optctx::bind
