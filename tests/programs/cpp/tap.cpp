// Listens in place on a stream and a fatal error handler as LLVM's are, while another thread uses and changes them.
#include "values/tap.hpp"

#include "image/layouts.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>
#include <thread>

using optctx::image::RawOstream;
using namespace optctx::values;

namespace {

using FatalHandler = void (*)(void*, const char*, bool);

std::string printed, heard;
int of_the_program = 0, of_another_thread = 0;  // the data of two handlers

void print(RawOstream*, const char* bytes, std::size_t count) { printed.append(bytes, count); }
void hear(void* data, const char* reason, bool) {
    heard = std::string(data == &of_the_program ? "own " : "other ") + reason;
}

const void* table[] = {nullptr, nullptr, nullptr, reinterpret_cast<const void*>(&print), nullptr};
RawOstream stream{table + 2, 0, nullptr, nullptr, nullptr};
FatalHandler handler = hear;
void* data = &of_the_program;

// As the methods of LLVM's stream do.
void write(const std::string& text) {
    using WriteImpl = void (*)(RawOstream*, const char*, std::size_t);
    reinterpret_cast<WriteImpl>(const_cast<void*>(stream.vtable[1]))(&stream, text.data(), text.size());
}

template <class Work>
void on_another_thread(const Work& work) {
    std::thread(work).join();
}

void check(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "%s: printed '%s', heard '%s'\n", what, printed.c_str(), heard.c_str());
    std::exit(1);
}

}  // namespace

int main() {
    const auto address = [](auto& object) { return reinterpret_cast<std::uintptr_t>(&object); };
    const auto tap = tap_in_place(
        0, {address(stream), address(handler), address(data), {(std::size(table) - 2) * sizeof(void*), 1}});
    {
        const Listening listening(*tap);
        write("kept");
        on_another_thread([] {
            write("let through");
            handler(data, "let through", false);
        });
        check(listening.text() == "kept" && printed == "let through", "a stream while a thread listens");
        check(heard == "own let through", "a fatal error of another thread");
        try {
            handler(data, "thrown", false);
            check(false, "a fatal error of the thread that listens");
        } catch (const FatalError& error) {
            check(error.what() == std::string("thrown"), "a fatal error of the thread that listens");
        }
    }
    check(handler == hear && stream.vtable == table + 2, "what was there before");
    write(" again");
    check(printed == "let through again", "a stream that no thread listens to");
    {
        const Listening listening(*tap);
        check(listening.text().empty(), "what was kept earlier");
        on_another_thread([] { handler = nullptr; });
    }
    check(handler == nullptr, "a handler that was removed meanwhile");
    {
        const Listening listening(*tap);
        on_another_thread([] {
            handler = hear;
            data = &of_another_thread;
        });
    }
    check(handler == hear, "a handler that was installed meanwhile");
    handler(data, "ended", false);
    check(heard == "other ended", "a handler that was installed meanwhile");
}
