// Texts that C++ code gives, checked and as they stand in messages.
#pragma once

#include <string>
#include <string_view>

namespace optctx::interface {

// Returns whether the bytes are UTF-8, without code points that are no characters.
bool is_utf8(std::string_view text) noexcept;
// Returns the text in quotes, for a message: shortened, and with '?' in place of what a message cannot show.
std::string quoted(std::string_view text);

}  // namespace optctx::interface
