// The parts of the Python module.
#pragma once

#include <nanobind/nanobind.h>

// What Python says of each option so that lookups from C++ find it (bindings_interface.cpp).
void add_interface(nanobind::module_& m);
