// A copy of LLVM's map of registered options that points at other Option objects.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace optctx::image {

// The layouts that walk_registry distinguishes, by the names it gives them.
enum class RegistryLayout : std::uint8_t { string_map, dense_map_with_epoch, dense_map };
// Throws std::runtime_error for another name.
RegistryLayout registry_layout(const std::string& name);

class RegistryCopy {
public:
    // `map`: as cl::getRegisteredOptions returned it, of an image whose registry was proven (walk_registry).
    // `instead_of` returns the object that takes the place of an Option.
    RegistryCopy(RegistryLayout layout, std::uintptr_t map,
                 const std::function<std::uintptr_t(std::uintptr_t option)>& instead_of);
    RegistryCopy(const RegistryCopy&) = delete;
    RegistryCopy& operator=(const RegistryCopy&) = delete;

    // A map that callers of LLVM's functions may read and change.
    std::uintptr_t map() const noexcept { return reinterpret_cast<std::uintptr_t>(head_.get()); }
    // Whether `map` still has the entries that were copied.
    bool is_current(std::uintptr_t map) const noexcept;

private:
    void copy_string_map(const std::function<std::uintptr_t(std::uintptr_t)>& instead_of);
    void copy_dense_map(std::size_t at, const std::function<std::uintptr_t(std::uintptr_t)>& instead_of);

    static constexpr std::size_t head_words = 5;  // no map has more

    RegistryLayout layout_;
    std::vector<std::uint64_t> original_;  // the head of the map that was copied
    std::unique_ptr<std::uint64_t[]> head_;
};

}  // namespace optctx::image
