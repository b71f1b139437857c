// How long an LLVMContext lives: as long as any of the modules in it.
#pragma once

namespace optctx::bind {

// Shared by an LLVMContext and its modules; whoever drops it last disposes of the LLVMContext, if that has been closed.
class Lifetime {
public:
    using Dispose = void (*)(void* llvm_context);

    Lifetime(void* llvm_context, Dispose dispose) noexcept : llvm_context_(llvm_context), dispose_(dispose) {}
    Lifetime(const Lifetime&) = delete;
    Lifetime& operator=(const Lifetime&) = delete;
    ~Lifetime() {
        if (closed_) dispose_(llvm_context_);
    }

    void close() noexcept { closed_ = true; }

private:
    void* llvm_context_;
    Dispose dispose_;
    bool closed_ = false;
};

}  // namespace optctx::bind
