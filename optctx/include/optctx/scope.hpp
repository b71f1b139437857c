// Set LLVM's options for a block of C++ code on one thread, in the same process as optctx.
//
//   #include <optctx/scope.hpp>
//
//   {
//       optctx::Scope scope{{"unroll-count", "4"}, {"enable-gvn-hoist", true}};
//       run_passes();  // LLVM reads these values on this thread
//   }                  // and those from before again, also after an exception
//
// Scopes nest, and nest with Python's `with OptionContext(...)` on the same thread: an inner one starts from the values
// of the one around it. A scope belongs to its thread. Neither the threads that code inside starts nor Python's tasks
// take it along. Needs what <optctx/option_context.hpp> needs, and never the GIL.
#pragma once

#include <cstdio>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "optctx/detail/setting.hpp"
#include "optctx/option_context.hpp"

namespace optctx {
inline namespace v2 {

// A value for an option, by its name or an alias, without leading dashes.
class Setting {
public:
    // As on a command line: -name=text.
    Setting(std::string_view name, std::string_view text) : name_(name), texts_{std::string(text)} {}
    Setting(std::string_view name, const std::string& text) : Setting(name, std::string_view(text)) {}
    Setting(std::string_view name, const char* text) : Setting(name, std::string_view(text)) {}
    // A value of a type that the option takes: bool; an integer; float or double (a float option takes no double);
    // char; a std::vector of the elements of a list or of bits. Other options throw TypeMismatch.
    template <class T>
    Setting(std::string_view name, const T& value) : Setting(typed(name, value)) {}
    // The same, also for a std::string: an option of strings, or a choice of an enum, and no other takes it.
    template <class T>
    static Setting typed(std::string_view name, const T& value) {
        return Setting(name, detail::texts_of(value), detail::is_vector<T>::value, &detail::check_settable<T>);
    }

private:
    using Check = void (*)(const optctx_option&);
    Setting(std::string_view name, std::vector<std::string> texts, bool elements, Check check)
        : name_(name), texts_(std::move(texts)), elements_(elements), check_(check) {}

    friend class OptionContext;

    std::string name_;
    std::vector<std::string> texts_;
    bool elements_ = false;
    Check check_ = nullptr;
};

inline OptionContext OptionContext::with(const Setting* settings, std::size_t count) const {
    std::vector<std::vector<optctx_text>> texts(count);
    std::vector<optctx_setting> given;
    for (std::size_t i = 0; i < count; ++i) {
        const Setting& each = settings[i];
        if (each.check_ != nullptr) each.check_(detail::find_option(*image_, each.name_));
        for (const std::string& text : each.texts_) texts[i].push_back({text.data(), text.size()});
        given.push_back({{each.name_.data(), each.name_.size()}, texts[i].data(), texts[i].size(), each.elements_});
    }
    const optctx_context* made = nullptr;
    optctx_error error;
    const std::int32_t status = detail::interface().make(image_, context_, given.data(), given.size(), &made, &error);
    if (status != OPTCTX_OK) detail::fail_with(status, error);
    return OptionContext(image_, made);
}
inline OptionContext OptionContext::with(std::initializer_list<Setting> settings) const {
    return with(settings.begin(), settings.size());
}
inline OptionContext OptionContext::with(const std::vector<Setting>& settings) const {
    return with(settings.data(), settings.size());
}

// While it lives, LLVM sees the values on the thread that made it, unless another scope was entered after it. Make and
// destroy it on the same thread.
//
// Preparing a context once and entering it many times is far cheaper than a scope that is made of settings:
//
//   const optctx::OptionContext unrolled = optctx::current().with({{"unroll-count", "4"}});
//   optctx::Scope scope(unrolled);
class [[nodiscard]] Scope {
public:
    // Makes a context of this thread's values with the settings on top, and enters it. Throws what
    // `OptionContext::with`, and what entering throws.
    Scope(std::initializer_list<Setting> settings) : Scope(current().with(settings)) {}
    Scope(Image image, std::initializer_list<Setting> settings) : Scope(current(image).with(settings)) {}
    // Enters a context, whether C++ or Python made it. One that is `process_wide()` is entered with the process-wide
    // values of this moment. Throws ScopeError, and Unavailable if optctx has detached from the LLVM.
    explicit Scope(const OptionContext& context) {
        if (context.process_wide())
            enter(context.with(nullptr, 0));
        else
            enter(context);
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    // Leaves the scope. On another thread it prints to standard error that it cannot, and the thread of the scope stays
    // inside until it ends.
    ~Scope() {
        optctx_error error;
        if (scope_.number == 0 || detail::interface().leave(scope_, &error) == OPTCTX_OK) return;
        std::fprintf(stderr, "optctx: %s\n", error.message);
    }

    // Leaves the scope early. Throws ScopeError, with nothing changed, on another thread and for a scope that was left
    // already.
    void leave() {
        if (scope_.number == 0) detail::fail<ScopeError>("cannot leave a scope: it was left already");
        optctx_error error;
        const std::int32_t status = detail::interface().leave(scope_, &error);
        if (status != OPTCTX_OK) detail::fail_with(status, error);
        scope_ = {};
    }

private:
    void enter(const OptionContext& context) {
        optctx_error error;
        const std::int32_t status = detail::interface().enter(context.context_, &scope_, &error);
        if (status != OPTCTX_OK) detail::fail_with(status, error);
    }

    optctx_scope scope_{};
};

// A scope of one option, in which the value has the type T: `optctx::With<int> inner("unroll-max-count", 3);`. Throws
// TypeMismatch if the option does not take a T; see Setting.
template <class T>
class [[nodiscard]] With : public Scope {
public:
    With(std::string_view name, const T& value) : Scope({Setting::typed(name, value)}) {}
};

}  // namespace v2
}  // namespace optctx
