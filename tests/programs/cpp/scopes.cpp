// Scopes from C++ around calls back into Python, for tests/native/interface/test_cpp_scopes.py; loaded with ctypes.
// Each function returns an empty text, or what was thrown.
#include <optctx/optctx.hpp>

#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using Body = void (*)();
using Settings = std::initializer_list<optctx::Setting>;
struct Stop : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// The status of an error of optctx, and its message.
template <class Work>
const char* said(Work work) {
    thread_local std::string text;
    text.clear();
    try {
        work();
    } catch (const optctx::Error& error) {
        text = std::to_string(error.status) + ": " + error.what();
    } catch (const std::exception& error) {
        text = std::string("exception: ") + error.what();
    }
    return text.c_str();
}

std::vector<std::unique_ptr<optctx::Scope>> open;

}  // namespace

extern "C" {

const char* in_scope(const char* name, const char* text, std::size_t length, Body body) {
    return said([&] {
        const optctx::Scope scope{{name, std::string(text, length)}};
        body();
    });
}
const char* in_elements(const char* name, const char* first, const char* second, Body body) {
    return said([&] {
        const optctx::Scope scope{{name, first}, {name, second}};
        body();
    });
}
const char* in_nested(Body body) {
    return said([&] {
        const optctx::Scope outer{{"unroll-max-count", 2u}};
        body();
        {
            const optctx::Scope inner{{"unroll-max-count", 3}};
            body();
        }
        body();
    });
}
const char* in_typed(const char* name, const char* type, Body body) {
    return said([&] {
        const std::string wanted(type);
        const auto run = [&](const auto& value) {
            const optctx::Scope scope{{name, value}};
            body();
        };
        if (wanted == "bool") return run(true);
        if (wanted == "int") return run(-3);
        if (wanted == "std::uint64_t") return run(~std::uint64_t{0});
        if (wanted == "float") return run(0.1F);
        if (wanted == "double") return run(0.1);
    });
}
// Three scopes, unwound by one exception.
const char* unwound(Body body) {
    return said([&] {
        const optctx::Scope one{{"unroll-count", "2"}};
        const optctx::Scope two{{"unroll-count", "4"}, {"unroll-max-count", "9"}};
        const optctx::Scope three{{"unroll-count", 8}};
        body();
        throw Stop("unwound");
    });
}

// Until the scopes of other threads, which have no Python, have come and gone.
const char* on_threads(std::size_t threads, std::size_t times) {
    return said([&] {
        std::vector<std::thread> all;
        std::vector<std::string> wrong(threads);
        for (std::size_t i = 0; i < threads; ++i)
            all.emplace_back([&, i] {
                try {
                    for (std::size_t k = 0; k < times; ++k) {
                        const auto count = static_cast<unsigned>(1 + i);
                        const optctx::Scope outer{{"unroll-count", count}};
                        const optctx::Scope inner(optctx::OptionContext{{"unroll-max-count", 10 * count}});
                        if (optctx::get<unsigned>("unroll-count") != count ||
                            optctx::get<unsigned>("unroll-max-count") != 10 * count)
                            wrong[i] = "other values";
                    }
                } catch (const std::exception& error) {
                    wrong[i] = error.what();
                }
            });
        for (std::thread& each : all) each.join();
        for (const std::string& each : wrong)
            if (!each.empty()) throw Stop(each);
    });
}

void destroy_now(std::unique_ptr<optctx::Scope>& scope) { scope.reset(); }

void destroy_when_the_thread_ends(std::unique_ptr<optctx::Scope>& scope) {
    thread_local std::unique_ptr<optctx::Scope> last;  // made first, so destroyed after what optctx has for the thread
    last = std::move(scope);
    const optctx::Scope own{{"unroll-count", "8"}};
}

// A thread without Python whose scope another thread destroys is inside it until it ends.
const char* destroyed_elsewhere() {
    return said([] {
        for (const auto destroy : {destroy_now, destroy_when_the_thread_ends}) {
            std::unique_ptr<optctx::Scope> scope;
            std::string wrong;
            std::thread([&] {
                scope = std::make_unique<optctx::Scope>(Settings{{"unroll-count", "4"}});
                std::thread([&] { destroy(scope); }).join();
                wrong = std::to_string(optctx::get<unsigned>("unroll-count"));
            }).join();
            if (wrong != "4") throw Stop("it is not inside: " + wrong);
        }
    });
}

// Scopes that do not end where C++ would end them.
const char* enter(const char* name, const char* text) {
    return said([&] { open.push_back(std::make_unique<optctx::Scope>(Settings{{name, text}})); });
}
const char* leave(std::size_t at) {
    return said([&] { open.at(at).reset(); });
}
const char* forget() {
    return said([] { open.clear(); });
}

}  // extern "C"
