// Captures in LLVM's own objects, for a library whose code is not redirected. All threads share these objects, so the
// hooks installed during a capture check which thread they run on and forward the calls of other threads to LLVM.
#include "image/layouts.hpp"
#include "os/os.hpp"
#include "values/capture.hpp"
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

thread_local views::PerImage<std::string*> captured{};  // buffers of this thread's captures

// The original functions, for the other threads. Written before the hooks are installed, while no thread can read them.
struct Real {
    std::atomic<WriteImpl> write{nullptr};
    std::atomic<FatalHandler> handler{nullptr};
    std::atomic<void*> data{nullptr};
};
views::PerImage<Real> real{};

// LLVM passes nothing to a hook that tells its image, so each image has its own functions.
template <unsigned image>
void write_impl(RawOstream* stream, const char* bytes, std::size_t count) {
    if (captured[image] != nullptr)
        captured[image]->append(bytes, count);
    else
        real[image].write.load()(stream, bytes, count);
}

// LLVM's frames have unwind tables but no handlers, so the exception passes through them. If this function returns,
// LLVM terminates the process, as it does without a handler.
template <unsigned image>
void on_fatal(void*, const char* reason, bool crash) {
    if (captured[image] != nullptr) throw FatalError(reason);
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

// The stream's vtable with `write_impl` replaced. Never freed: another thread may be about to call through it.
class Table {
public:
    Table(unsigned image, const ReportingObjects& objects) : words_((objects.vtable_size + head) / sizeof(void*)) {
        const auto* own = reinterpret_cast<const std::uint8_t*>(word<std::uintptr_t>(objects.stream).load());
        std::memcpy(words_.data(), own - head, objects.vtable_size + head);
        void*& write = words_.at(head / sizeof(void*) + objects.write_index);
        real[image].write = reinterpret_cast<WriteImpl>(write);
        write = reinterpret_cast<void*>(hooks[image].write);
    }
    std::uintptr_t address() const { return reinterpret_cast<std::uintptr_t>(words_.data()) + head; }

private:
    static constexpr std::size_t head = 2 * sizeof(void*);  // offset to top, type info
    std::vector<void*> words_;
};

class InPlaceCapture final : public Capture {
public:
    InPlaceCapture(unsigned image, const ReportingObjects& objects, std::uintptr_t table)
        : image_(image), objects_(objects), table_(word<std::uintptr_t>(objects.stream).load()) {
        real[image].handler = word<FatalHandler>(objects.fatal_handler).load();
        real[image].data = word<void*>(objects.fatal_data).load();
        captured[image] = &text_;
        word<FatalHandler>(objects.fatal_handler).store(hooks[image].fatal);
        word<std::uintptr_t>(objects.stream).store(table);
    }
    ~InPlaceCapture() override {
        word<std::uintptr_t>(objects_.stream).store(table_);
        word<FatalHandler>(objects_.fatal_handler).store(real[image_].handler.load());
        captured[image_] = nullptr;
    }
    std::string text() const override { return text_; }

private:
    unsigned image_;
    ReportingObjects objects_;
    std::uintptr_t table_;  // the stream's own vtable
    std::string text_;
};

class InPlaceReporter final : public Reporter {
public:
    InPlaceReporter(unsigned image, const ReportingObjects& objects)
        : image_(image), objects_(objects), table_(*new Table(image, objects)) {}
    std::unique_ptr<Capture> capture(std::size_t) override {
        return std::make_unique<InPlaceCapture>(image_, objects_, table_.address());
    }

private:
    unsigned image_;
    ReportingObjects objects_;
    const Table& table_;
};

}  // namespace

std::unique_ptr<Reporter> in_place_reporter(unsigned image, const ReportingObjects& objects) {
    return std::make_unique<InPlaceReporter>(image, objects);
}

}  // namespace optctx::values
