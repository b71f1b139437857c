// The thread-local pointers through which redirected instructions read.
#pragma once

#include <cstddef>
#include <cstdint>

namespace optctx::view {

// Several LLVMs can live in one process; each has a view of its own in every thread.
inline constexpr unsigned max_images = 8;
inline constexpr unsigned max_slots = 4096;   // regions
inline constexpr unsigned max_words = 16384;  // of a view

// A view: slot -> address of that region's storage, and what follows (view/layout.hpp).
using View = void**;

// The identity view of an image: LLVM's own globals. Every thread starts with it, without any code of
// ours running at thread start, because it is the initial value of the thread-local.
View identity_view(unsigned image);
View current_view(unsigned image) noexcept;
void set_current_view(unsigned image, View view) noexcept;

// Stands between the views that this thread is shown and LLVM, which reads through others in their place.
class Substitute {
public:
    explicit Substitute(unsigned image) : image_(image) {}
    virtual ~Substitute() = default;
    virtual View instead_of(View view) noexcept = 0;
    // A reader has read, for the first time; called in a signal handler.
    virtual void mark(std::size_t reader) noexcept = 0;
    // From now on readers cannot be marked on this thread.
    virtual void lose() noexcept = 0;

private:
    friend View current_view(unsigned image) noexcept;
    friend void set_current_view(unsigned image, View view) noexcept;
    friend void set_substitute(Substitute* next) noexcept;
    unsigned image_;
    View shown_ = nullptr;
};
Substitute* substitute() noexcept;
// Null: LLVM reads through what is shown.
void set_substitute(Substitute* next) noexcept;
// What LLVM reads through.
View view_read(unsigned image) noexcept;

// While it lives, this thread sees the globals of every LLVM: for what optctx itself reads or calls there, so that
// nobody takes it for a read that a compilation makes.
class LiveView {
public:
    LiveView() noexcept;
    LiveView(const LiveView&) = delete;
    LiveView& operator=(const LiveView&) = delete;
    ~LiveView();

private:
    View previous_[max_images];
    Substitute* substitute_;
};

// Offset of the thread-local pointer from the thread pointer (fs), the same in every thread, in bytes.
std::int32_t thread_offset(unsigned image);

}  // namespace optctx::view
