// The LLVM functions that a compilation calls without llvmlite's lock and without the GIL.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace optctx::compile {

using Pointer = void*;

// Addresses of functions in a library of llvmlite's, under the names of optctx/hosts/llvmlite/compiling.py.
struct Llvm {
    // Throws std::out_of_range if a function is missing.
    Llvm(unsigned index, const std::map<std::string, std::uintptr_t>& addresses);

    unsigned image;

    Pointer (*create_tuning)();
    void (*dispose_tuning)(Pointer);
    Pointer (*create_pass_builder)(Pointer machine, Pointer tuning);
    void (*dispose_pass_builder)(Pointer);
    Pointer (*create_pass_manager)();
    void (*run_pass_manager)(Pointer manager, Pointer module, Pointer builder);
    void (*dispose_pass_manager)(Pointer);
    // Returns an llvm::Error, which is one pointer, through the hidden first argument.
    Pointer (*parse_pipeline)(Pointer* error, Pointer builder, Pointer manager, const char* text, std::size_t size);
    char* (*error_message)(Pointer error);  // consumes `error`
    void (*dispose_error_message)(char*);
    Pointer (*emit_to_memory)(Pointer machine, Pointer module, int as_object, char** message);
    const char* (*buffer_start)(Pointer);
    std::size_t (*buffer_size)(Pointer);
    void (*dispose_buffer)(Pointer);
    void (*dispose_string)(char*);
    void (*set_diagnostic_handler)(Pointer context, void (*)(Pointer, Pointer), Pointer data, bool respect_filters);
    Pointer (*diagnostic_handler)(Pointer context);
    int (*diagnostic_severity)(Pointer);
    char* (*diagnostic_description)(Pointer);
    void (*dispose_message)(char*);
};

// The diagnostics with error severity. Without a handler, LLVM prints diagnostics to standard error, and an error calls
// `exit(1)`.
using Errors = std::vector<std::string>;

struct Ran {
    std::optional<std::string> parse_error;  // of the pipeline; if set, nothing was run
    Errors errors;
};
// A field of PipelineTuningOptions that the program has set: the function that sets it, and the value.
using Setting = std::pair<void (*)(Pointer, int), int>;
// `machine` may be null.
Ran run_passes(const Llvm& llvm, Pointer context, Pointer module, Pointer machine, const std::vector<Setting>& settings,
               const std::string& text);

struct Emitted {
    std::optional<std::string> code;
    std::string message;  // why there is no code
    Errors errors;
};
Emitted emit(const Llvm& llvm, Pointer context, Pointer module, Pointer machine, bool as_object);

}  // namespace optctx::compile
