#include "interface/table.hpp"

#include "views/view.hpp"

#include <atomic>
#include <utility>

namespace optctx::interface {
namespace {

views::PerImage<std::atomic<const Table*>> tables{};
std::atomic<const Table*> first{nullptr};  // of llvmlite's image, which is the process's default

}  // namespace

Table::Table(values::Space& space, const image::Library& library, std::vector<Option> options)
    : space_(space), begin_(library.text_begin()), end_(library.text_end()), options_(std::move(options)) {
    for (const Option& option : options_)
        for (const std::string& name : option.names) by_name_.emplace(name, &option);
}

const Option* Table::find(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second;
}

void publish(std::unique_ptr<const Table> table) {
    const Table* none = nullptr;
    auto& place = tables[table->image()];
    if (place.compare_exchange_strong(none, table.get(), std::memory_order_release)) (void)table.release();
}

void begin_with(unsigned image) noexcept { first.store(tables[image].load(), std::memory_order_release); }

const Table* published(const void* code) noexcept {
    if (code == nullptr) return first.load(std::memory_order_acquire);
    for (const auto& each : tables) {
        const Table* table = each.load(std::memory_order_acquire);
        if (table != nullptr && table->contains(reinterpret_cast<std::uintptr_t>(code))) return table;
    }
    return nullptr;
}

}  // namespace optctx::interface
