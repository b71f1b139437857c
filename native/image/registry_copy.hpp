// A copy of LLVM's map of registered options that points at other Option objects.
#pragma once

#include "image/registry_entries.hpp"
#include "image/registry_layouts.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace optctx::image {

class RegistryCopy {
public:
    // `map`: as cl::getRegisteredOptions returned it, of an image whose registry was proven (walk_registry).
    // `instead_of` returns the object that takes the place of an Option.
    RegistryCopy(const RegistryLayout& layout, std::uintptr_t map,
                 const std::function<std::uintptr_t(std::uintptr_t option)>& instead_of);
    RegistryCopy(const RegistryCopy&) = delete;
    RegistryCopy& operator=(const RegistryCopy&) = delete;
    ~RegistryCopy();

    // A map that callers of LLVM's functions may read and change.
    std::uintptr_t map() const noexcept { return reinterpret_cast<std::uintptr_t>(head_.get()); }
    // Whether `map` still has the entries that were copied.
    bool is_current(std::uintptr_t map) const;

private:
    void copy_string_map(const std::function<std::uintptr_t(std::uintptr_t)>& instead_of);
    void copy_dense_map(const std::function<std::uintptr_t(std::uintptr_t)>& instead_of);

    static constexpr std::size_t head_size = 40;  // bytes; no map has more

    const RegistryLayout layout_;
    std::vector<RegistryEntry> original_;  // of the map that was copied
    std::unique_ptr<std::byte[]> head_;    // owns what it leads to, whatever code has made of it
};

}  // namespace optctx::image
