// What a message says of a value that LLVM's parser refused, in the words of Python's (optctx/values/texts.py).
#pragma once

#include "interface/table.hpp"

#include <string>
#include <string_view>

namespace optctx::interface {

// Returns why LLVM refuses the value, of all that it said, and what the option takes.
std::string with_expectation(const OptionEntry& entry, std::string_view given, std::string_view said);

}  // namespace optctx::interface
