#include "interface/table.hpp"

#include "views/view.hpp"

#include <atomic>
#include <memory>
#include <utility>

namespace optctx::interface {
namespace {

views::PerImage<std::atomic<const Table*>> tables{};
std::atomic<const Table*> first{nullptr};  // of llvmlite's image, which is the process's default

}  // namespace

void publish(values::Space& space, const image::Library& library, std::vector<Option> options) {
    auto table =
        std::unique_ptr<Table>(new Table{space, library.text_begin(), library.text_end(), std::move(options), {}});
    for (const Option& option : table->options)
        for (const std::string& name : option.names) table->by_name.emplace(name, &option);
    const Table* none = nullptr;
    auto& place = tables[space.image()];
    if (place.compare_exchange_strong(none, table.get(), std::memory_order_release)) (void)table.release();
}

void begin_with(unsigned image) noexcept { first.store(tables[image].load(), std::memory_order_release); }

const Table* published(const void* code) noexcept {
    if (code == nullptr) return first.load(std::memory_order_acquire);
    const auto address = reinterpret_cast<std::uintptr_t>(code);
    for (const auto& each : tables) {
        const Table* table = each.load(std::memory_order_acquire);
        if (table != nullptr && address >= table->begin && address < table->end) return table;
    }
    return nullptr;
}

}  // namespace optctx::interface
