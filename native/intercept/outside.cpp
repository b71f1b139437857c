#include "intercept/outside.hpp"

#include "views/per_image.hpp"

#include <atomic>

namespace optctx::bind {
namespace {

// The rule and the runs that go on under it are one word, so no run begins under a rule that is being replaced.
constexpr std::uint64_t rule_bits = 3;
constexpr std::uint64_t one_run = 4;

struct OutsideRule {
    std::atomic<std::uint64_t> word{0};
    // Never freed: threads read it without a lock.
    std::atomic<const Binding*> defaults{nullptr};
};

auto& outside_rules = *new views::PerImage<OutsideRule>;  // outlives every thread

Outside rule_in(std::uint64_t word) noexcept { return static_cast<Outside>(word & rule_bits); }
std::size_t runs_in(std::uint64_t word) noexcept { return static_cast<std::size_t>(word / one_run); }

}  // namespace

Outside outside_rule(unsigned image) noexcept { return rule_in(outside_rules[image].word.load()); }

std::size_t set_outside_rule(unsigned image, Outside rule, std::unique_ptr<const Binding> defaults) {
    OutsideRule& own = outside_rules[image];
    std::uint64_t word = own.word.load();
    if (rule_in(word) == rule) return 0;
    if (runs_in(word) != 0) return runs_in(word);
    if (rule == Outside::defaults) {
        const Binding* last = own.defaults.load();
        if (last == nullptr || last->context != defaults->context) own.defaults = defaults.release();
    }
    while (!own.word.compare_exchange_weak(word, static_cast<std::uint64_t>(rule)))
        if (runs_in(word) != 0) return runs_in(word);
    return 0;
}

void reset_outside_rule(unsigned image) noexcept { outside_rules[image].word.fetch_and(~rule_bits); }

Outside begin_outside(unsigned image) noexcept { return rule_in(outside_rules[image].word.fetch_add(one_run)); }
void end_outside(unsigned image) noexcept { outside_rules[image].word.fetch_sub(one_run); }

const Binding& defaults_inside(unsigned image) noexcept { return *outside_rules[image].defaults.load(); }

void count_outside_again(unsigned image, std::size_t runs) noexcept {
    std::atomic<std::uint64_t>& word = outside_rules[image].word;
    word = (word & rule_bits) + runs * one_run;
}

std::shared_ptr<const contexts::Context> context_outside(unsigned image) {
    return outside_rule(image) == Outside::defaults ? defaults_inside(image).context : nullptr;
}

}  // namespace optctx::bind
