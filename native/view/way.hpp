// How the values of contexts reach LLVM. A process runs in one of two ways: every thread reads storage of its own
// (per_thread.hpp), or threads with different values take turns at LLVM's storage (turns.hpp).
#pragma once

#include "view/activation.hpp"
#include "view/slots.hpp"

#include <memory>

namespace optctx::view {

class Context;
struct Group;

// A scope of one thread.
struct Frame {
    std::shared_ptr<Context> context;
    void* owner = nullptr;  // whatever the caller wants back on leaving
    bool borrowed = false;  // the owner is somebody else's, and nobody was asked to let the thread in
    // Of a thread that reads storage of its own:
    ActivationPool::Node activation{};
    View previous = nullptr;
    // Of a thread that takes turns:
    std::shared_ptr<Group> group{};  // the threads it shares LLVM's storage with
    bool nested = false;             // it was inside something else already
};

// `outer` is the innermost scope of this thread besides `frame`, or null.
class Way {
public:
    virtual ~Way() = default;
    // Lets this thread into the frame's context: at once, or after a wait that must not be made while holding what a
    // thread inside may need (the GIL). Throws GateError or ParseError with nothing changed.
    virtual bool admit_at_once(Frame& frame, const Frame* outer) = 0;
    virtual void admit(Frame& frame, const Frame* outer) = 0;
    virtual void leave(Frame& frame, const Frame* outer) noexcept = 0;
    // The same for a compilation, in a scope or outside: LLVM's storage must not be changed under it.
    virtual bool begin_compilation_at_once(const Frame* scope) = 0;
    virtual void begin_compilation(const Frame* scope) = 0;
    virtual void end_compilation(const Frame* scope) noexcept = 0;
    // Around fork; in the child only this thread lives on, and `scope` is the innermost it is in, or null.
    virtual void before_fork() noexcept {}
    virtual void after_fork_in_parent() noexcept {}
    virtual void after_fork_in_child(const Frame* scope) noexcept = 0;
};

// The way of this process: every thread reads storage of its own, unless `use` said otherwise before the first scope.
Way& way() noexcept;
void use(Way& chosen) noexcept;

}  // namespace optctx::view
