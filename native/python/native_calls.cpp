#include "python/native_calls.hpp"

#include "contexts/copies.hpp"
#include "image/memory.hpp"

#include <Python.h>
#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace optctx::native_calls {
namespace {

void* virtual_function(std::uintptr_t object, unsigned index) {
    return (*reinterpret_cast<void* const* const*>(object))[index];
}

std::string text_of(const image::RawStringRef& text, const char* what) {
    return image::load_text(reinterpret_cast<std::uintptr_t>(text.data), text.size, what);
}

}  // namespace

values::Setting merge(const std::vector<SharedSetting>& settings) {
    values::Setting merged;
    for (const SharedSetting& setting : settings)
        merged.insert(merged.end(), setting.patches->begin(), setting.patches->end());
    return merged;
}

values::Space* redirected_space(unsigned image, std::vector<values::Region> regions,
                                std::vector<std::uint32_t> set_default, std::uintptr_t add_occurrence,
                                const Reporting& reporting, std::vector<views::Reader> readers) {
    const auto [stream, handler, data] = reporting;
    const values::ReportingSlots slots{static_cast<std::uint32_t>(stream), regions.at(stream).size,
                                       static_cast<std::uint32_t>(handler), static_cast<std::uint32_t>(data)};
    std::size_t reach = sizeof(void*);
    for (const values::Region& region : regions) reach = std::max(reach, region.size);
    auto layout = std::make_shared<const views::Layout>(regions.size(), std::move(readers), reach);
    values::LlvmCalls calls{add_occurrence, values::tap_in_view(views::checked_image(image), layout, slots)};
    auto space = std::make_unique<values::Space>(image, std::move(regions), std::move(set_default), std::move(calls),
                                                 std::move(layout));
    contexts::plan_copies(*space);
    return space.release();
}

values::Space* in_place_space(unsigned image, std::vector<values::Region> regions,
                              std::vector<std::uint32_t> set_default, std::uintptr_t add_occurrence,
                              const Reporting& reporting, std::size_t vtable_size, std::size_t write_index) {
    const auto [stream, handler, data] = reporting;
    const values::ReportingObjects objects{stream, handler, data, vtable_size, write_index};
    values::LlvmCalls calls{add_occurrence, values::tap_in_place(views::checked_image(image), objects)};
    return new values::Space(image, std::move(regions), std::move(set_default), std::move(calls), nullptr);
}

std::vector<std::string> categories(const image::RawOption& option) {
    std::vector<std::string> names;
    for (std::uint32_t i = 0; i < option.category_count; ++i)
        names.push_back(text_of(*option.categories[i], "the name of a category"));
    return names;
}

std::vector<std::uintptr_t> read_words(std::uintptr_t address, std::size_t count) {
    const views::LiveView live;
    std::vector<std::uintptr_t> words(count);
    std::memcpy(words.data(), reinterpret_cast<const void*>(address), count * sizeof(std::uintptr_t));
    return words;
}

std::string demangle(const std::string& name) {
    int status = 0;
    char* plain = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
    if (plain == nullptr) return name;
    std::string result(plain);
    std::free(plain);
    return result;
}

std::uintptr_t call_pointer(std::uintptr_t function, std::uintptr_t argument) {
    return reinterpret_cast<std::uintptr_t (*)(std::uintptr_t)>(function)(argument);
}

void call_all(const std::vector<std::vector<std::uintptr_t>>& calls) {
    using Function = void (*)(std::uintptr_t, std::uintptr_t, std::uintptr_t, std::uintptr_t, std::uintptr_t);
    constexpr std::size_t most = 6;  // arguments that a function does not have are in registers that it ignores
    for (const auto& call : calls)
        if (call.empty() || call.size() > most) throw std::invalid_argument("a function and at most 5 arguments");
    for (const auto& call : calls) {
        std::array<std::uintptr_t, most> all{};
        std::ranges::copy(call, all.begin());
        reinterpret_cast<Function>(all[0])(all[1], all[2], all[3], all[4], all[5]);
    }
}

// The objects are LLVM's own, even if the caller is inside a scope.

unsigned call_virtual_uint(std::uintptr_t object, unsigned index) {
    const views::LiveView live;
    return reinterpret_cast<unsigned (*)(std::uintptr_t)>(virtual_function(object, index))(object);
}

std::uintptr_t call_virtual_pointer(std::uintptr_t object, unsigned index, unsigned argument) {
    using Function = std::uintptr_t (*)(std::uintptr_t, unsigned);
    const views::LiveView live;
    return reinterpret_cast<Function>(virtual_function(object, index))(object, argument);
}

std::string call_virtual_text(std::uintptr_t object, unsigned index, unsigned argument) {
    using Function = image::RawStringRef (*)(std::uintptr_t, unsigned);
    const views::LiveView live;
    return text_of(reinterpret_cast<Function>(virtual_function(object, index))(object, argument),
                   "the text of a choice");
}

}  // namespace optctx::native_calls
