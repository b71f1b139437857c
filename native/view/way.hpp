// How the values of contexts reach LLVM. A process runs in one of two ways: every thread reads storage of its own
// (per_thread.hpp), or threads with different values take turns at LLVM's storage (turns.hpp).
#pragma once

#include "view/activation.hpp"
#include "view/slots.hpp"

#include <memory>

namespace optctx::view {

class Context;
struct Group;

// Values that a thread has LLVM see, until they are taken away again.
struct Frame {
    std::shared_ptr<Context> context;  // null: LLVM's own values
    unsigned image;
    // Of a thread that reads storage of its own:
    View view = nullptr;  // given before it is let in: one that this thread has already, and is shown again
    ActivationPool::Node activation{};
    View previous = nullptr;
    bool admitted = false;  // somebody counts it
    // Of a thread that takes turns:
    std::shared_ptr<Group> group{};  // the threads it shares LLVM's storage with
    bool nested = false;             // it was inside something else already
};

enum class Carried { fully, without_process_wide, not_at_all };

// `outer` is the innermost frame of this thread besides `frame`, or null.
class Way {
public:
    virtual ~Way() = default;
    // Lets this thread in, LLVM sees the frame's values from then on: at once, or after a wait that must not be made
    // while holding what a thread inside may need (the GIL). Throws GateError or ParseError with nothing changed.
    virtual bool admit_at_once(Frame& frame, const Frame* outer) = 0;
    virtual void admit(Frame& frame, const Frame* outer) = 0;
    // As `admit`, where nobody may wait: ahead of those who do. There is nothing to leave if it is `not_at_all`.
    virtual Carried carry(Frame& frame, const Frame* outer) = 0;
    // `above` is the frame that was let in after this one and is still there, or null. If there is none, LLVM sees
    // what it saw before.
    virtual void leave(Frame& frame, const Frame* outer, Frame* above) noexcept = 0;
    // Whether this thread's frames may be shown in any order: `show` has LLVM see those of the frame, or its own.
    virtual bool shows_any() const noexcept { return false; }
    virtual void show(unsigned, const Frame*) noexcept {}
    // A compilation, in a scope or outside: LLVM's storage must not be changed under it.
    virtual bool begin_compilation_at_once(const Frame* scope) = 0;
    virtual void begin_compilation(const Frame* scope) = 0;
    virtual void end_compilation(const Frame* scope) noexcept = 0;
    // In the child of a fork, where only this thread lives on: `scope` is the innermost it is in, or null.
    virtual void after_fork_in_child(const Frame* scope) noexcept = 0;
};

// The way of this process: every thread reads storage of its own, unless `use` said otherwise before the first scope.
Way& way() noexcept;
void use(Way& chosen) noexcept;

}  // namespace optctx::view
