// The Python module: its parts, in their order.
#include "python/bindings.hpp"

#include "python/callbacks.hpp"

#include <stdexcept>

NB_MODULE(_native, m) {
    m.doc() = "Native part of optctx: image, patching, views. Not a public interface.";
    nanobind::set_leak_warnings(false);
    static bool is_loaded = false;  // nanobind ends the process where a type is registered twice
    if (std::exchange(is_loaded, true))
        throw std::runtime_error(
            "optctx cannot be imported again in this process: its modules were removed from sys.modules, or an "
            "interrupt ended the first import; leave them there, or import it in another process");
    optctx::callbacks::add(m);
    add_image(m);
    add_sites(m);
    add_values(m);
    add_scopes(m);
    add_interceptions(m);
    add_runs(m);
    add_setters(m);
    add_attach(m);
    add_compile(m);
    add_interface(m);
    add_reads(m);
    add_drift(m);
#ifdef OPTCTX_LAB
    add_insight(m);
#endif
}
