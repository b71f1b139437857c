#include "values/tap.hpp"

#include "image/layouts.hpp"
#include "os/os.hpp"
#include "views/view.hpp"

#include <array>
#include <atomic>
#include <cstring>
#include <utility>
#include <vector>

namespace optctx::values {
namespace {

using image::RawOstream;
using WriteImpl = void (*)(RawOstream*, const char*, std::size_t);
using FatalHandler = void (*)(void*, const char*, bool);

// LLVM is built without exceptions but with unwind tables: the exception passes through its frames and runs nothing
// there.
[[noreturn]] void throw_fatal(void*, const char* reason, bool) { throw FatalError(reason); }

// Returns a copy of a stream's virtual functions, with another write_impl and the words before them. The vtable pointer
// leads to its third word.
constexpr std::size_t words_before_functions = 2;  // offset to top, type info
std::vector<void*> functions_with(std::uintptr_t own, const StreamFunctions& functions, WriteImpl write) {
    std::vector<void*> words(functions.size / sizeof(void*) + words_before_functions);
    std::memcpy(words.data(), reinterpret_cast<void* const*>(own) - words_before_functions,
                words.size() * sizeof(void*));
    words.at(words_before_functions + functions.write_index) = reinterpret_cast<void*>(write);
    return words;
}

// A thread's own llvm::errs(): the bytes of the stream, behind a pointer to the text that it writes to.
class OwnStream {
public:
    OwnStream(std::size_t size) : words_(1 + (size + sizeof(void*) - 1) / sizeof(void*)), size_(size) {
        words_.front() = &text_;
    }
    OwnStream(const OwnStream&) = delete;
    OwnStream& operator=(const OwnStream&) = delete;

    void* address() noexcept { return &words_[1]; }
    void make_functions(const void* live, const StreamFunctions& functions) {
        functions_ = functions_with(*static_cast<const std::uintptr_t*>(live), functions, write);
    }
    // Makes the stream like LLVM's own one, and empty. It has a buffer because the other one may have been given one:
    // LLVM allocates a buffer for a stream that wants one and lacks it.
    void begin(const void* live) {
        text_.clear();
        std::memcpy(address(), live, size_);
        raw()->vtable = functions_.data() + words_before_functions;
        raw()->begin = raw()->cursor = buffer_.data();
        raw()->end = buffer_.data() + buffer_.size();
    }
    std::string text() const { return text_ + std::string(raw()->begin, raw()->cursor); }

private:
    RawOstream* raw() noexcept { return static_cast<RawOstream*>(address()); }
    const RawOstream* raw() const noexcept { return reinterpret_cast<const RawOstream*>(&words_[1]); }
    static void write(RawOstream* stream, const char* bytes, std::size_t count) {
        static_cast<std::string*>(reinterpret_cast<void**>(stream)[-1])->append(bytes, count);
    }

    std::vector<void*> words_;
    std::size_t size_;
    std::vector<void*> functions_;
    std::array<char, 256> buffer_;
    std::string text_;
};

class ViewTap final : public Tap {
public:
    ViewTap(unsigned image, std::shared_ptr<const views::Layout> layout, const ReportingSlots& slots)
        : image_(image), layout_(std::move(layout)), slots_(slots), stream_(slots.stream_size) {}

private:
    void open() override {
        if (view_.empty()) make_view();
        stream_.begin(views::identity_view(image_)[slots_.stream]);
        previous_ = views::current_view(image_);
        views::set_current_view(image_, view_.data());
    }
    void close() noexcept override { views::set_current_view(image_, previous_); }
    std::string text() const override { return stream_.text(); }

    // Takes longer than most parses.
    void make_view() {
        const views::View identity = views::identity_view(image_);
        std::vector<void*> view(identity, identity + layout_->size());
        layout_->spread(view.data());
        stream_.make_functions(identity[slots_.stream], slots_.functions);
        view.at(slots_.stream) = stream_.address();
        view.at(slots_.fatal_handler) = &handler_;
        view.at(slots_.fatal_data) = &data_;
        view_ = std::move(view);
    }

    unsigned image_;
    std::shared_ptr<const views::Layout> layout_;
    ReportingSlots slots_;
    FatalHandler handler_ = throw_fatal;
    void* data_ = nullptr;
    OwnStream stream_;
    std::vector<void*> view_;
    views::View previous_ = nullptr;
};

thread_local views::PerImage<std::string*> kept{};  // what this thread reports, while it listens

// What other threads report through. Written before it is replaced, while no thread can read it here.
struct Real {
    std::atomic<WriteImpl> write{nullptr};
    std::atomic<FatalHandler> handler{nullptr};
    std::atomic<void*> data{nullptr};
};
views::PerImage<Real> real{};

// LLVM passes nothing to a hook that tells its image, so each image has its own functions.
template <unsigned image>
void write_impl(RawOstream* stream, const char* bytes, std::size_t count) {
    if (kept[image] != nullptr)
        kept[image]->append(bytes, count);
    else
        real[image].write.load()(stream, bytes, count);
}

// If this function returns, LLVM terminates the process, as it does without a handler.
template <unsigned image>
void on_fatal(void* data, const char* reason, bool crash) {
    if (kept[image] != nullptr) throw_fatal(data, reason, crash);
    if (const FatalHandler handler = real[image].handler.load()) return handler(real[image].data.load(), reason, crash);
    os::say("LLVM ERROR: " + std::string(reason) + "\n");
}

struct Hooks {
    WriteImpl write;
    FatalHandler fatal;
};
template <std::size_t... images>
constexpr views::PerImage<Hooks> make_hooks(std::index_sequence<images...>) {
    return {Hooks{&write_impl<images>, &on_fatal<images>}...};
}
constexpr views::PerImage<Hooks> hooks = make_hooks(std::make_index_sequence<views::max_images>{});

template <class T>
std::atomic_ref<T> word(std::uintptr_t address) {
    return std::atomic_ref<T>(*reinterpret_cast<T*>(address));
}

class InPlaceTap final : public Tap {
public:
    InPlaceTap(unsigned image, const ReportingObjects& objects)
        : image_(image), objects_(objects), own_table_(word<std::uintptr_t>(objects.stream).load()) {
        const auto* functions = reinterpret_cast<void* const*>(own_table_);
        real[image].write = reinterpret_cast<WriteImpl>(functions[objects.functions.write_index]);
        // Never freed: another thread may be about to call through it.
        auto& table = *new auto(functions_with(own_table_, objects.functions, hooks[image].write));
        table_ = reinterpret_cast<std::uintptr_t>(table.data() + words_before_functions);
    }

private:
    void open() override {
        text_.clear();
        kept[image_] = &text_;
        const auto handler = word<FatalHandler>(objects_.fatal_handler);
        FatalHandler before = handler.load();
        do {
            real[image_].handler = before;
            real[image_].data = word<void*>(objects_.fatal_data).load();
        } while (!handler.compare_exchange_weak(before, hooks[image_].fatal));
        word<std::uintptr_t>(objects_.stream).store(table_);
    }
    // A handler that another thread has installed or removed since stays as it is.
    void close() noexcept override {
        word<std::uintptr_t>(objects_.stream).store(own_table_);
        FatalHandler ours = hooks[image_].fatal;
        word<FatalHandler>(objects_.fatal_handler).compare_exchange_strong(ours, real[image_].handler.load());
        kept[image_] = nullptr;
    }
    std::string text() const override { return text_; }

    unsigned image_;
    ReportingObjects objects_;
    std::uintptr_t own_table_;  // the stream's vtable
    std::uintptr_t table_;      // a copy of it, with another write_impl
    std::string text_;
};

}  // namespace

std::unique_ptr<Tap> tap_in_view(unsigned image, std::shared_ptr<const views::Layout> layout,
                                 const ReportingSlots& slots) {
    return std::make_unique<ViewTap>(image, std::move(layout), slots);
}

std::unique_ptr<Tap> tap_in_place(unsigned image, const ReportingObjects& objects) {
    return std::make_unique<InPlaceTap>(image, objects);
}

}  // namespace optctx::values
