// Finds optctx's extension module among the libraries of the process. Part of <optctx/option_context.hpp>.
#pragma once

#include <dlfcn.h>
#include <link.h>

#include <cstdint>
#include <string>
#include <vector>

#include "optctx/errors.hpp"
#include "optctx/interface.h"

namespace optctx {
inline namespace v2 {
namespace detail {

inline std::vector<std::string> loaded_libraries() {
    std::vector<std::string> paths;
    const auto add = [](dl_phdr_info* library, std::size_t, void* found) {
        // The program itself has an empty name. The vDSO has a name but no file, so dlopen fails for it.
        if (library->dlpi_name != nullptr && library->dlpi_name[0] != '\0')
            static_cast<std::vector<std::string>*>(found)->emplace_back(library->dlpi_name);
        return 0;
    };
    dl_iterate_phdr(add, &paths);
    return paths;
}

inline const optctx_interface* find_interface() {
    using Find = const optctx_interface* (*)(std::uint32_t);
    bool another_version = false;
    for (const std::string& path : loaded_libraries()) {
        void* const library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
        if (library == nullptr) continue;
        if (void* const symbol = dlsym(library, OPTCTX_INTERFACE_SYMBOL)) {
            const optctx_interface* const found = reinterpret_cast<Find>(symbol)(OPTCTX_INTERFACE_VERSION);
            // Keep the handle, so that the module stays loaded.
            if (found != nullptr && found->size >= sizeof(optctx_interface)) return found;
            another_version = true;
        }
        dlclose(library);
    }
    if (another_version)
        fail<Unavailable>(
            "the optctx of this process does not have version 2 of its C++ interface as this code was compiled for it: "
            "compile against the header that the installed optctx brings (optctx.get_include())");
    fail<Unavailable>("optctx is not loaded in this process: import it in Python and use it once before");
}

// Found once. While it is missing, every call searches again.
inline const optctx_interface& interface() {
    static const optctx_interface* const found = find_interface();
    return *found;
}

}  // namespace detail
}  // namespace v2
}  // namespace optctx
