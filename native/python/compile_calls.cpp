#include "python/compile_calls.hpp"

#include <unistd.h>

#include <array>
#include <memory>

namespace optctx::compile {
namespace {

// LLVMDiagnosticSeverity, and the prefixes that LLVM prints before the message
constexpr std::array prefixes{"error: ", "warning: ", "remark: ", "note: "};
constexpr int error_severity = 0;

template <class Text, class Dispose>
std::string take_text(Text* text, Dispose dispose) {
    const std::unique_ptr<Text, Dispose> owner(text, dispose);
    return text == nullptr ? std::string() : std::string(text);
}

// Collects the errors of an LLVMContext. Prints warnings and remarks to standard error, as LLVM does. If the
// LLVMContext already has a handler, keeps that and collects nothing. The caller has exclusive use of the LLVMContext.
class Diagnostics {
public:
    Diagnostics(const Llvm& llvm, Pointer context)
        : llvm_(llvm), context_(context), installed_(llvm.diagnostic_handler(context) == nullptr) {
        if (installed_) llvm.set_diagnostic_handler(context, &handle, this, true);
    }
    Diagnostics(const Diagnostics&) = delete;
    Diagnostics& operator=(const Diagnostics&) = delete;
    ~Diagnostics() {
        if (installed_) llvm_.set_diagnostic_handler(context_, nullptr, nullptr, false);
    }

    std::vector<std::string> errors;

private:
    static void handle(Pointer diagnostic, Pointer data) {
        auto& self = *static_cast<Diagnostics*>(data);
        std::string message = take_text(self.llvm_.diagnostic_description(diagnostic), self.llvm_.dispose_message);
        const int severity = self.llvm_.diagnostic_severity(diagnostic);
        if (severity == error_severity) {
            self.errors.push_back(std::move(message));
            return;
        }
        message = prefixes.at(static_cast<std::size_t>(severity)) + message + "\n";
        [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, message.data(), message.size());
    }

    const Llvm& llvm_;
    Pointer context_;
    bool installed_;
};

using Owner = std::unique_ptr<void, void (*)(Pointer)>;

}  // namespace

std::string verify(const Llvm& llvm, Pointer module) {
    bool broken_debug_info = false;
    if (!llvm.verify_module(module, nullptr, &broken_debug_info)) return {};
    char* words = nullptr;
    llvm.verifier_words(module, &words);
    return take_text(words, llvm.dispose_string);
}

Outcome run_passes(const Llvm& llvm, Pointer context, Pointer module, Pointer machine,
                   const std::vector<Setting>& settings, const std::string& text) {
    const Owner tuning(llvm.create_tuning(), llvm.dispose_tuning);
    for (const auto& [set, value] : settings) reinterpret_cast<void (*)(Pointer, int)>(set)(tuning.get(), value);
    const Owner builder(llvm.create_pass_builder(machine, tuning.get()), llvm.dispose_pass_builder);
    const Owner manager(llvm.create_pass_manager(), llvm.dispose_pass_manager);
    Diagnostics diagnostics(llvm, context);
    Pointer error = nullptr;
    llvm.parse_pipeline(&error, builder.get(), manager.get(), text.data(), text.size());
    // The low bit marks an unchecked error. Success is a null pointer with that bit set.
    const auto payload = reinterpret_cast<Pointer>(reinterpret_cast<std::uintptr_t>(error) & ~std::uintptr_t{1});
    if (payload != nullptr) return {take_text(llvm.error_message(payload), llvm.dispose_error_message), {}, {}};
    llvm.run_pass_manager(manager.get(), module, builder.get());
    return {std::nullopt, {}, std::move(diagnostics.errors)};
}

Outcome emit(const Llvm& llvm, Pointer context, Pointer module, Pointer machine, bool as_object) {
    Diagnostics diagnostics(llvm, context);
    char* message = nullptr;
    const Owner buffer(llvm.emit_to_memory(machine, module, as_object ? 1 : 0, &message), llvm.dispose_buffer);
    std::string said = take_text(message, llvm.dispose_string);
    if (buffer == nullptr) return {std::move(said), {}, std::move(diagnostics.errors)};
    std::string code(llvm.buffer_start(buffer.get()), llvm.buffer_size(buffer.get()));
    return {std::nullopt, std::move(code), std::move(diagnostics.errors)};
}

}  // namespace optctx::compile
