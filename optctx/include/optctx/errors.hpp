// The exceptions that lookups and scopes throw. Part of <optctx/option_context.hpp> and <optctx/scope.hpp>.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace optctx {
inline namespace v2 {

// The base class of all errors of lookups and scopes. Catch them in functions that C or Python calls: an exception that
// leaves one ends the process. examples/cpp shows how. With -fno-exceptions, a failing call prints the message to
// standard error and aborts the process.
struct [[gnu::visibility("default")]] Error : std::runtime_error {
    using std::runtime_error::runtime_error;
};
// optctx is not loaded, has not attached to LLVM yet, or has another version of the interface.
struct [[gnu::visibility("default")]] Unavailable : Error {
    using Error::Error;
};
// No option with that name is registered.
struct [[gnu::visibility("default")]] UnknownOption : Error {
    using Error::Error;
};
// The option's type does not match the type of the lookup or of the value.
struct [[gnu::visibility("default")]] TypeMismatch : Error {
    using Error::Error;
};
// The LLVMContext is not bound to a context.
struct [[gnu::visibility("default")]] NotBound : Error {
    using Error::Error;
};

// The option does not take this value. Nothing was changed.
struct [[gnu::visibility("default")]] InvalidValue : Error {
    using Error::Error;
};
// The option cannot be set for one thread. Nothing was changed.
struct [[gnu::visibility("default")]] ProcessWideOption : Error {
    using Error::Error;
};
// The scope cannot be entered or left here and now. Nothing was changed.
struct [[gnu::visibility("default")]] ScopeError : Error {
    using Error::Error;
};

namespace detail {

template <class Exception>
[[noreturn]] inline void fail(const std::string& message) {
#if defined(__cpp_exceptions)
    throw Exception(message);
#else
    std::fprintf(stderr, "optctx: %s\n", message.c_str());
    std::abort();
#endif
}

}  // namespace detail
}  // namespace v2
}  // namespace optctx
