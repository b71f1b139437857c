// The Python module is bound in parts.
#pragma once

#include <nanobind/nanobind.h>

// Entering and leaving, and what keeps threads in line with tasks.
void bind_scopes(nanobind::module_& m);
