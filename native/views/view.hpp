// The thread-local pointers through which redirected instructions read.
#pragma once

#include "arch/sites.hpp"
#include "views/per_image.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace optctx::views {

inline constexpr unsigned max_slots = 4096;   // regions
inline constexpr unsigned max_words = 16384;  // of a view

// A view: slot -> address of the region's storage, followed by the words of views/layout.hpp.
using View = void**;

// The identity view of an image leads to LLVM's own globals. It is the initial value of the thread-local pointer, so
// every thread starts with it without running any code of optctx.
View identity_view(unsigned image);
View current_view(unsigned image) noexcept;
void set_current_view(unsigned image, View view) noexcept;
// Whether this thread is shown the identity view.
bool shows_globals(unsigned image) noexcept;

// Replaces the views of one image that this thread is shown: LLVM reads through the substitute's views instead.
class Substitute {
public:
    explicit Substitute(unsigned image) : image_(image) {}
    virtual ~Substitute() = default;
    virtual View instead_of(View view) noexcept = 0;
    // A reader has read for the first time; called in a signal handler.
    virtual void mark(std::size_t reader) noexcept = 0;
    // Readers can no longer be marked on this thread.
    virtual void lose() noexcept = 0;
    unsigned image() const noexcept { return image_; }

private:
    friend View current_view(unsigned image) noexcept;
    friend void set_current_view(unsigned image, View view) noexcept;
    friend void set_substitute(unsigned image, Substitute* next) noexcept;
    unsigned image_;
    View shown_ = nullptr;
};
Substitute* substitute(unsigned image) noexcept;
// Null: LLVM reads through the view that is shown. Otherwise `next` is a substitute for views of this image.
void set_substitute(unsigned image, Substitute* next) noexcept;
// Returns the view that LLVM reads through.
View view_read(unsigned image) noexcept;

// While it lives, this thread sees the globals of every LLVM. Used for optctx's own reads and calls, so that they are
// not recorded as reads of a compilation.
class LiveView {
public:
    LiveView() noexcept;
    LiveView(const LiveView&) = delete;
    LiveView& operator=(const LiveView&) = delete;
    ~LiveView();

private:
    PerImage<View> previous_;
    PerImage<Substitute*> substitutes_;
};

// What LLVM has written on this thread, or been given an address of: for each exposure group of slots, of all images,
// whether any code of its sites has run.
using Exposed = std::array<std::uint8_t, arch::exposure_groups>;
// Moves this thread's to `taken`. Returns false, and moves nothing, if there are none.
bool take_exposed(Exposed& taken) noexcept;

// Byte offsets of the thread-local pointer, and of the exposure groups, from the thread pointer (fs), the same in every
// thread.
std::ptrdiff_t view_offset(unsigned image);
std::ptrdiff_t exposed_offset();

}  // namespace optctx::views
