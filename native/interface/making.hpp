// Makes contexts from the texts that C++ code gives, without Python. Refuses what Python's OptionContext refuses.
#pragma once

#include "contexts/context.hpp"
#include "interface/table.hpp"

#include <memory>
#include <span>
#include <stdexcept>
#include <string>

namespace optctx::interface {

// Why a context was not made. `what` is the message.
struct Refused : std::runtime_error {
    Refused(optctx_status why, const std::string& message) : std::runtime_error(message), status(why) {}
    optctx_status status;
};

// Returns a context with the values of `base` and the settings on top. Null stands for the process-wide values of this
// moment. Changes nothing. Throws Refused.
std::shared_ptr<const contexts::Context> make_context(const Table& table, const contexts::Context* base,
                                                      std::span<const optctx_setting> settings);

}  // namespace optctx::interface
