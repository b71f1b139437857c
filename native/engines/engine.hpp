// The engine: how the values of contexts reach LLVM. An image uses one of two. Either every thread reads its own
// storage (per_thread.hpp), or threads with different values take turns at LLVM's storage (turns.hpp).
#pragma once

#include "contexts/activation.hpp"
#include "views/view.hpp"

#include <memory>

namespace optctx::engines {

class Context;
struct Group;

// The values that a thread makes LLVM see, until the frame is removed.
struct Frame {
    std::shared_ptr<contexts::Context> context;  // null: LLVM's own values
    unsigned image;
    // With the `thread` engine:
    contexts::Sight sight{};  // if set before admission: what this thread already has, to be shown again
    contexts::Acquired activation{};
    contexts::Sight previous{};
    bool admitted = false;  // the gate counts it
    // With the `exclusive` engine:
    std::shared_ptr<Group> group{};  // the threads that share LLVM's storage with this one
};

enum class Carried { fully, without_process_wide, not_at_all };

// Frames are near each other if they are of the same image or, where an engine `spans_images`, if the images use that
// engine. `outer` is this thread's innermost frame near `frame` other than `frame` itself, or null.
class Engine {
public:
    virtual ~Engine() = default;
    // Whether one frame decides what LLVM sees in all images that use this engine.
    virtual bool spans_images() const noexcept { return false; }
    // Admit this thread: LLVM sees the frame's values from then on. `admit_at_once` never waits, and returns false if
    // it would have to. `admit` waits; the caller must not hold anything that a thread inside may need, such as the
    // GIL. Both throw GateError, values::ParseError or views::UnwatchedError, with nothing changed.
    virtual bool admit_at_once(Frame& frame, const Frame* outer) = 0;
    virtual void admit(Frame& frame, const Frame* outer) = 0;
    // Like `admit`, for callers that must not wait: goes ahead of waiting threads. If it returns `not_at_all` or
    // throws, there is nothing to leave.
    virtual Carried carry(Frame& frame, const Frame* outer) = 0;
    // `above` is the next near frame admitted after this one that is still present, or null. If it is null, LLVM sees
    // again what it saw before this frame.
    virtual void leave(Frame& frame, const Frame* outer, Frame* above) noexcept = 0;
    // Whether this thread's frames may be shown in any order. `show` makes LLVM see the frame's values, or
    // LLVM's own if the frame is null.
    virtual bool shows_any() const noexcept { return false; }
    virtual void show(unsigned, const Frame*) noexcept {}
    // A compilation, inside a scope or outside. LLVM's storage must not change while it runs.
    virtual bool begin_compilation_at_once(const Frame* scope) = 0;
    virtual void begin_compilation(const Frame* scope) = 0;
    virtual void end_compilation(const Frame* scope) noexcept = 0;
    // Runs in the child of a fork, where only this thread survives. `scope` is its innermost frame, or null.
    virtual void after_fork_in_child(const Frame* scope) noexcept = 0;
};

}  // namespace optctx::engines
