// Stands for an optctx that has other versions of the interface than the header asks for.
#include <optctx/interface.h>

extern "C" const optctx_interface* optctx_find_interface(uint32_t version) {
    static const optctx_interface older = [version] {
        optctx_interface made{};
        made.version = version;
        made.size = 8;
        return made;
    }();
#ifdef TOO_SMALL
    return &older;
#else
    return version == OPTCTX_INTERFACE_VERSION ? nullptr : &older;
#endif
}
