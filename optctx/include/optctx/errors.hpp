// What lookups throw. Part of <optctx/option_context.hpp>.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace optctx {
inline namespace v1 {

// Base of all of them. With -fno-exceptions the message goes to standard error instead, and the process aborts.
struct [[gnu::visibility("default")]] Error : std::runtime_error {
    using std::runtime_error::runtime_error;
};
// optctx is not loaded, has not attached to LLVM yet, or its interface is of another version.
struct [[gnu::visibility("default")]] Unavailable : Error {
    using Error::Error;
};
// No option is registered under the name.
struct [[gnu::visibility("default")]] UnknownOption : Error {
    using Error::Error;
};
// The option is of another type than the one that it was looked up as.
struct [[gnu::visibility("default")]] TypeMismatch : Error {
    using Error::Error;
};
// No context is bound to the LLVMContext.
struct [[gnu::visibility("default")]] NotBound : Error {
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
}  // namespace v1
}  // namespace optctx
