// Stands for an optctx that has another version of the interface than the header asks for.
#include <optctx/interface.h>

extern "C" const optctx_interface* optctx_find_interface(uint32_t version) {
    static const optctx_interface newer{OPTCTX_INTERFACE_VERSION + 1, nullptr, nullptr, nullptr, nullptr, nullptr};
    return version == newer.version ? &newer : nullptr;
}
