// What happens when LLVM starts to work on a module or a function: the thread's view follows the LLVMContext that it
// belongs to, and the attribute of the function.
#pragma once

#include "bind/table.hpp"
#include "view/context.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace optctx::bind {

// The argument of an intercepted function that says what it works on.
enum class Subject : std::uint8_t {
    module,
    function,
    llvm_context_that_begins,  // and gets the next of the bindings that this thread expects
    llvm_context_that_ends,
    machine,     // a TargetMachine; the function is called for the one in force, and is a run by itself
    unfinished,  // what a function with Skip::leave_unfinished works for; skipped as well if that was skipped
};

// How to keep a function from doing its work, where the run is not allowed.
enum class Skip : std::uint8_t {
    never,
    empty_manager,     // argument 1, a new pass manager, is replaced by one without passes
    return_zero,       // "nothing changed", or no value at all
    fail_with_text,    // argument 4 gets a message (malloc), 1 is returned: the C API's convention for emission, whose
                       // argument 0 is a TargetMachine
    leave_unfinished,  // as return_zero, and argument 0 stays without what was to be made
};

// An intercepted function, packed into the number that its thunk passes on.
struct Entry {
    Subject subject;
    std::uint8_t argument;  // index of the subject among the integer arguments
    Skip skip;
};
constexpr std::uint32_t pack(Entry entry) {
    return static_cast<std::uint32_t>(entry.subject) | static_cast<std::uint32_t>(entry.argument) << 8 |
           static_cast<std::uint32_t>(entry.skip) << 16;
}

// LLVM's C API in the image, by address.
struct LlvmCalls {
    void* (*module_context)(void* module);
    void* (*first_function)(void* module);
    void* (*next_function)(void* function);
    void* (*function_module)(void* function);
    void* (*string_attribute)(void* function, unsigned index, const char* key, unsigned size);
    const char* (*string_attribute_value)(void* attribute, unsigned* size);
    const char* (*module_triple)(void* module);
    char* (*machine_triple)(void* machine);  // malloc
};

// What becomes of the text of an attribute.
struct Resolved {
    // refused: nothing runs, and the enclosing call says why. ignored: the function runs as without it.
    enum class Answer : std::uint8_t { refused, ignored, context };
    Answer answer = Answer::refused;
    std::shared_ptr<view::Context> context{};
    void* owner = nullptr;  // of the context; handed to view::take_orphans at the end
};

// Different texts that are asked about for one module. One more is asked about, to be refused or ignored; the rest is
// ignored after that.
inline constexpr std::size_t most_attributes = 1024;

// What is decided by code that knows names and values; called on the thread that runs LLVM, and must not throw.
struct Judge {
    // Whether a module bound to `owner` may run in the scope of `here` (null: outside any).
    bool (*may_run)(void* owner, void* here, bool is_error);
    // The options in `text` on top of that scope, after `before` other texts of the module, for a target.
    Resolved (*resolve)(std::string_view text, void* here, std::size_t before, const char* triple);
    // The enclosing call is to say that the context of `owner` could not be entered.
    void (*cannot_enter)(void* owner, const char* why);
};

// How often LLVM began to work on a module, from the beginning of the process: on every thread, and on this one.
struct RunCounts {
    std::uint64_t everywhere;
    std::uint64_t here;
};
RunCounts run_counts() noexcept;

// Whether the attribute "optctx" of functions counts, on every thread; at first it does not.
void count_attributes(bool count) noexcept;
void configure(unsigned image, const LlvmCalls& calls, const Judge& judge);

// What is bound to the LLVMContext of a module, or null.
std::shared_ptr<const Binding> bound_to_module(const void* module) noexcept;
// The LLVMContexts that begin on this thread from now on, where that is intercepted, are bound in this order; null: not
// at all. Replaces what was expected before.
void expect_llvm_contexts(std::vector<std::shared_ptr<const Binding>> bindings);
// Those that have not begun yet.
std::vector<std::shared_ptr<const Binding>> expected_llvm_contexts();

// What the thunks call. `arguments`: the six integer arguments, which may be changed, and the result if the function is
// not to be called at all. Returns that (`skip_call`), or how many steps `after` has to take back.
inline constexpr std::uint64_t skip_call = 0xFFFFFFFF;
inline constexpr std::size_t result_index = 6;
extern "C" std::uint64_t optctx_before(std::uint32_t entry, std::uint64_t* arguments);
extern "C" void optctx_after(std::uint64_t steps);

}  // namespace optctx::bind
