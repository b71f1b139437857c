// Captures in LLVM's own objects, for a library whose code is not redirected. All threads share these objects, so the
// hooks installed during a capture check which thread they run on and forward the calls of other threads to LLVM.
#include "view/capture.hpp"

#include "image/option_layout.hpp"
#include "os/os.hpp"

#include <atomic>
#include <cstring>
#include <vector>

namespace optctx::view {
namespace {

using image::RawOstream;
using WriteImpl = void (*)(RawOstream*, const char*, std::size_t);
using FatalHandler = void (*)(void*, const char*, bool);

thread_local std::string* captured = nullptr;  // buffer of this thread's capture

// The original functions, for the other threads. Written before the hooks are installed, while no thread can read them.
std::atomic<WriteImpl> real_write{nullptr};
std::atomic<FatalHandler> real_handler{nullptr};
std::atomic<void*> real_data{nullptr};

void write_impl(RawOstream* stream, const char* bytes, std::size_t count) {
    if (captured != nullptr)
        captured->append(bytes, count);
    else
        real_write.load()(stream, bytes, count);
}

// LLVM's frames have unwind tables but no handlers, so the exception passes through them. If this function returns,
// LLVM terminates the process, as it does without a handler.
void on_fatal(void*, const char* reason, bool crash) {
    if (captured != nullptr) throw FatalError(reason);
    if (const FatalHandler handler = real_handler.load()) return handler(real_data.load(), reason, crash);
    os::say("LLVM ERROR: " + std::string(reason) + "\n");
}

template <class T>
std::atomic_ref<T> word(std::uintptr_t address) {
    return std::atomic_ref<T>(*reinterpret_cast<T*>(address));
}

// The stream's vtable with `write_impl` replaced. Never freed: another thread may be about to call through it.
class Table {
public:
    explicit Table(const ReportingObjects& objects) : words_((objects.vtable_size + head) / sizeof(void*)) {
        const auto* real = reinterpret_cast<const std::uint8_t*>(word<std::uintptr_t>(objects.stream).load());
        std::memcpy(words_.data(), real - head, objects.vtable_size + head);
        void*& write = words_.at(head / sizeof(void*) + objects.write_index);
        real_write = reinterpret_cast<WriteImpl>(write);
        write = reinterpret_cast<void*>(&write_impl);
    }
    std::uintptr_t address() const { return reinterpret_cast<std::uintptr_t>(words_.data()) + head; }

private:
    static constexpr std::size_t head = 2 * sizeof(void*);  // offset to top, type info
    std::vector<void*> words_;
};

class InPlaceCapture final : public Capture {
public:
    InPlaceCapture(const ReportingObjects& objects, std::uintptr_t table)
        : objects_(objects), table_(word<std::uintptr_t>(objects.stream).load()) {
        real_handler = word<FatalHandler>(objects.fatal_handler).load();
        real_data = word<void*>(objects.fatal_data).load();
        captured = &text_;
        word<FatalHandler>(objects.fatal_handler).store(on_fatal);
        word<std::uintptr_t>(objects.stream).store(table);
    }
    ~InPlaceCapture() override {
        word<std::uintptr_t>(objects_.stream).store(table_);
        word<FatalHandler>(objects_.fatal_handler).store(real_handler.load());
        captured = nullptr;
    }
    std::string text() const override { return text_; }

private:
    ReportingObjects objects_;
    std::uintptr_t table_;  // the stream's own vtable
    std::string text_;
};

class InPlaceReporter final : public Reporter {
public:
    explicit InPlaceReporter(const ReportingObjects& objects) : objects_(objects), table_(*new Table(objects)) {}
    std::unique_ptr<Capture> capture(std::size_t) override {
        return std::make_unique<InPlaceCapture>(objects_, table_.address());
    }

private:
    ReportingObjects objects_;
    const Table& table_;
};

}  // namespace

std::unique_ptr<Reporter> in_place_reporter(const ReportingObjects& objects) {
    return std::make_unique<InPlaceReporter>(objects);
}

}  // namespace optctx::view
