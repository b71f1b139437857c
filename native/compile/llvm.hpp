// What a compilation calls of LLVM, past llvmlite's lock, without the GIL.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace optctx::compile {

using Pointer = void*;

// Functions of llvmlite's library by address, under the names that optctx/passes/native_api.py gives them.
struct Llvm {
    // Throws std::out_of_range if one is missing.
    explicit Llvm(const std::map<std::string, std::uintptr_t>& addresses);

    Pointer (*create_tuning)();
    void (*dispose_tuning)(Pointer);
    Pointer (*create_pass_builder)(Pointer machine, Pointer tuning);
    void (*dispose_pass_builder)(Pointer);
    Pointer (*create_pass_manager)();
    void (*run_pass_manager)(Pointer manager, Pointer module, Pointer builder);
    void (*dispose_pass_manager)(Pointer);
    // An llvm::Error of one pointer comes back through the hidden first argument.
    Pointer (*parse_pipeline)(Pointer* error, Pointer builder, Pointer manager, const char* text, std::size_t size);
    char* (*error_message)(Pointer error);  // consumes it
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

// What LLVM's diagnostics said were errors. With no handler set LLVM prints a diagnostic on standard error and calls
// `exit(1)` if it is an error.
using Errors = std::vector<std::string>;

struct Ran {
    std::optional<std::string> parse_error;  // of the pipeline; nothing was run
    Errors errors;
};
// `machine` and `tuning` may be null.
Ran run_passes(const Llvm& llvm, Pointer context, Pointer module, Pointer machine, Pointer tuning,
               const std::string& text);

struct Emitted {
    std::optional<std::string> code;
    std::string message;  // why there is none
    Errors errors;
};
Emitted emit(const Llvm& llvm, Pointer context, Pointer module, Pointer machine, bool as_object);

}  // namespace optctx::compile
