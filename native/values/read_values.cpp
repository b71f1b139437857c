#include "values/read_values.hpp"

#include "image/layouts.hpp"
#include "values/debugging.hpp"
#include "values/strings.hpp"
#include "views/view.hpp"

#include <cstring>
#include <stdexcept>

namespace optctx::values {
namespace {

template <class T>
T load(std::uintptr_t address) {
    T value;
    std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
    return value;
}

Text load_string(Abi abi, std::uintptr_t address) {
    return {std::string(String(abi, reinterpret_cast<const void*>(address)).text())};
}

}  // namespace

Scalar read_scalar(Kind kind, std::uintptr_t address) {
    const views::LiveView reading;  // the address may be in LLVM's own storage
    switch (kind) {
        case Kind::boolean:
            if (const auto flag = process_wide_flag(address)) return *flag;
            return load<std::uint8_t>(address) != 0;
        case Kind::bool_or_default:
        case Kind::int32:
            return std::int64_t{load<std::int32_t>(address)};
        case Kind::uint32:
        case Kind::bits:
            return std::uint64_t{load<std::uint32_t>(address)};
        case Kind::int64:
            return load<std::int64_t>(address);
        case Kind::uint64:
        case Kind::enumeration:
            return load<std::uint64_t>(address);
        case Kind::float32:
            return double{load<float>(address)};
        case Kind::float64:
            return load<double>(address);
        case Kind::character:
            return Text{std::string(1, load<char>(address))};
        case Kind::string:
            return load_string(Abi::copy_on_write, address);
        case Kind::long_string:
            return load_string(Abi::libstdcxx, address);
        case Kind::libcxx_string:
            return load_string(Abi::libcxx, address);
        default:
            throw std::runtime_error("a value of this type has no scalar form");
    }
}

std::uint64_t read_integer(std::size_t size, std::uintptr_t address) {
    std::uint64_t value = 0;
    std::memcpy(&value, reinterpret_cast<const void*>(address), std::min<std::size_t>(size, sizeof value));
    return value;
}

std::vector<Scalar> read_list(Kind element, std::size_t element_size, std::uintptr_t address) {
    const views::LiveView reading;
    const auto list = load<image::RawList>(address);
    const std::size_t bytes = list.values[1] - list.values[0];
    std::vector<Scalar> values;
    if (bytes == 0) return values;
    const std::size_t occurrences = (list.positions[1] - list.positions[0]) / sizeof(std::uint32_t);
    if (element_size == 0 && occurrences != 0) element_size = bytes / occurrences;
    if (element_size == 0) element_size = sizeof(std::uint32_t);  // a list of enums that was never set
    for (std::uintptr_t at = list.values[0]; at < list.values[1]; at += element_size)
        values.push_back(element == Kind::enumeration ? read_integer(element_size, at) : read_scalar(element, at));
    return values;
}

}  // namespace optctx::values
