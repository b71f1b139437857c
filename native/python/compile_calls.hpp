// The LLVM functions that a compilation calls without llvmlite's lock and without the GIL.
#pragma once

#include "intercept/named_calls.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace optctx::compile {

using Pointer = void*;

// Functions of a library of llvmlite's, under the names of optctx/hosts/llvmlite/compiling.py. Making it throws
// std::out_of_range if one is missing.
struct Llvm {
    unsigned image;
    intercept::NamedCalls calls;

    Pointer (*create_tuning)() = calls["create_tuning"];
    void (*dispose_tuning)(Pointer) = calls["dispose_tuning"];
    Pointer (*create_pass_builder)(Pointer machine, Pointer tuning) = calls["create_pass_builder"];
    void (*dispose_pass_builder)(Pointer) = calls["dispose_pass_builder"];
    Pointer (*create_pass_manager)() = calls["create_pass_manager"];
    void (*run_pass_manager)(Pointer manager, Pointer module, Pointer builder) = calls["run_pass_manager"];
    void (*dispose_pass_manager)(Pointer) = calls["dispose_pass_manager"];
    // Returns an llvm::Error, which is one pointer, through the hidden first argument.
    Pointer (*parse_pipeline)(Pointer* error, Pointer builder, Pointer manager, const char* text,
                              std::size_t size) = calls["parse_pipeline"];
    char* (*error_message)(Pointer error) = calls["error_message"];  // consumes `error`
    void (*dispose_error_message)(char*) = calls["dispose_error_message"];
    // llvm::verifyModule: whether it is broken. Without a stream it writes nothing.
    bool (*verify_module)(Pointer module, Pointer stream, bool* broken_debug_info) = calls["verify_module"];
    int (*verifier_words)(Pointer module, char** words) = calls["verifier_words"];
    Pointer (*emit_to_memory)(Pointer machine, Pointer module, int as_object, char** message) = calls["emit_to_memory"];
    const char* (*buffer_start)(Pointer) = calls["buffer_start"];
    std::size_t (*buffer_size)(Pointer) = calls["buffer_size"];
    void (*dispose_buffer)(Pointer) = calls["dispose_buffer"];
    void (*dispose_string)(char*) = calls["dispose_string"];
    void (*set_diagnostic_handler)(Pointer context, void (*)(Pointer, Pointer), Pointer data,
                                   bool respect_filters) = calls["set_diagnostic_handler"];
    Pointer (*diagnostic_handler)(Pointer context) = calls["diagnostic_handler"];
    int (*diagnostic_severity)(Pointer) = calls["diagnostic_severity"];
    char* (*diagnostic_description)(Pointer) = calls["diagnostic_description"];
    void (*dispose_message)(char*) = calls["dispose_message"];
};

// Returns what LLVM's verifier says of a broken module, and nothing of another one. Debug info that is broken breaks no
// module: LLVM leaves it out where it reads one.
std::string verify(const Llvm& llvm, Pointer module);

struct Outcome {
    std::optional<std::string> failure;  // why the pipeline does not parse and nothing was run, or there is no code
    std::string code;
    // The diagnostics with error severity. Without a handler, LLVM prints diagnostics to standard error, and an error
    // calls `exit(1)`.
    std::vector<std::string> errors;
};
// A field of PipelineTuningOptions that the program has set: the address of the function that sets it, and the value.
using Setting = std::pair<std::uintptr_t, int>;
// `machine` may be null.
Outcome run_passes(const Llvm& llvm, Pointer context, Pointer module, Pointer machine,
                   const std::vector<Setting>& settings, const std::string& text);
Outcome emit(const Llvm& llvm, Pointer context, Pointer module, Pointer machine, bool as_object);

}  // namespace optctx::compile
