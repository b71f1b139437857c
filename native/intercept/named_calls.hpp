// LLVM's functions by the names that Python and C++ have for them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace optctx::intercept {

// The address of a function, which a pointer to a function of any type can be made from.
struct Address {
    std::uintptr_t value = 0;

    template <class Function>
    operator Function*() const noexcept {
        return reinterpret_cast<Function*>(value);
    }
};

class NamedCalls {
public:
    NamedCalls(std::map<std::string, std::uintptr_t> addresses) : addresses_(std::move(addresses)) {}
    // Throws std::out_of_range if the function is missing.
    Address operator[](const char* name) const { return {addresses_.at(name)}; }
    // Null if it is missing.
    Address or_null(const char* name) const { return addresses_.contains(name) ? (*this)[name] : Address{}; }

private:
    std::map<std::string, std::uintptr_t> addresses_;
};

}  // namespace optctx::intercept
