// Small conversions that the bindings share: calls of LLVM functions by address, texts, words.
#pragma once

#include "image/layouts.hpp"
#include "values/space.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace optctx::native_calls {

struct SharedSetting {
    std::shared_ptr<const values::Setting> patches;
};
values::Setting merge(const std::vector<SharedSetting>& settings);

// (stream, fatal error handler, its argument), as slots or as addresses.
using Reporting = std::tuple<std::uintptr_t, std::uintptr_t, std::uintptr_t>;
values::Space* redirected_space(unsigned image, std::vector<values::Region> regions,
                                std::vector<std::uint32_t> set_default, std::uintptr_t add_occurrence,
                                const Reporting& reporting, std::vector<views::Reader> readers);
values::Space* in_place_space(unsigned image, std::vector<values::Region> regions,
                              std::vector<std::uint32_t> set_default, std::uintptr_t add_occurrence,
                              const Reporting& reporting, std::size_t vtable_size, std::size_t write_index);

std::vector<std::string> categories(const image::RawOption& option);
std::vector<std::uintptr_t> read_words(std::uintptr_t address, std::size_t count);
std::string demangle(const std::string& name);
// Calls a uintptr_t f(uintptr_t) at an address.
std::uintptr_t call_pointer(std::uintptr_t function, std::uintptr_t argument);
// Makes calls one after the other: for each a function's address and its arguments, whole numbers and addresses.
// Throws before the first call or not at all. No Python code runs in between.
void call_all(const std::vector<std::vector<std::uintptr_t>>& calls);
// Call unsigned f() const, T& f(unsigned) const and StringRef f(unsigned) const through an object's vtable.
unsigned call_virtual_uint(std::uintptr_t object, unsigned index);
std::uintptr_t call_virtual_pointer(std::uintptr_t object, unsigned index, unsigned argument);
std::string call_virtual_text(std::uintptr_t object, unsigned index, unsigned argument);

}  // namespace optctx::native_calls
