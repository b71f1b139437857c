// The Python module: its parts, in their order.
#include "python/bindings.hpp"

#include "python/block.hpp"
#include "python/callbacks.hpp"

#include <nanobind/nanobind.h>

NB_MODULE(_native, m) {
    m.doc() = "Native part of optctx: image, patching, views. Not a public interface.";
    nanobind::set_leak_warnings(false);
    optctx::blocks::prepare();
    optctx::callbacks::add(m);
    add_image(m);
    add_sites(m);
    add_space(m);
    add_scopes(m);
    add_interceptions(m);
    add_bind(m);
    add_machines(m);
    add_contain(m);
    add_attach(m);
    add_compile(m);
    add_interface(m);
    add_record(m);
    add_drift(m);
#ifdef OPTCTX_LAB
    add_audit(m);
    add_read_stacks(m);
#endif
}
