#include "image/registry.hpp"

#include "image/memory.hpp"
#include "image/registry_entries.hpp"

#include <cstddef>
#include <unordered_set>
#include <utility>

namespace optctx::image {

namespace {

// Collects entries, and proves each before the next is read.
class Options {
public:
    explicit Options(Snapshot& memory) : memory_(memory), proof_(memory) {}

    void leave_out() { ++left_out_; }

    void add(const RegistryEntry& entry) {
        std::string name = load_key(memory_, entry);
        if (name.empty() || !keys_.insert(name).second) throw Misfit("the key '" + name + "' is empty or there twice");
        const std::string own = proof_.own_name(entry.option);
        if (!own.empty() && own != name) throw Misfit("the option under key '" + name + "' is called '" + own + "'");
        nameless_ += own.empty();
        options_.push_back({std::move(name), entry.option});
    }

    std::vector<RegisteredOption> take(std::uint32_t announced) {
        const std::size_t found = options_.size() + left_out_;
        if (found != announced || announced == 0)
            throw Misfit(std::to_string(found) + " entries found, " + std::to_string(announced) + " announced");
        // An option without a name is registered under each of its literal values. LLVM 22 has two.
        if (nameless_ > 8 + announced / 64)
            throw Misfit(std::to_string(nameless_) + " of " + std::to_string(announced) + " options have no name");
        return std::move(options_);
    }

private:
    Snapshot& memory_;
    OptionProof proof_;
    std::vector<RegisteredOption> options_;
    std::unordered_set<std::string> keys_;
    std::size_t nameless_ = 0;
    std::size_t left_out_ = 0;
};

std::vector<RegisteredOption> walk(Snapshot& memory, std::uintptr_t map, const RegistryLayout& layout,
                                   const Library* image) {
    const RegistryEntries entries = load_entries(memory, map, layout);
    Options options(memory);
    for (const RegistryEntry& entry : entries.found) {
        try {
            options.add(entry);
        } catch (const Misfit&) {
            if (image == nullptr || image->contains(entry.option)) throw;
            options.leave_out();
        }
    }
    return options.take(entries.announced);
}

}  // namespace

Registry walk_registry(std::uintptr_t map, const Library* image) {
    Snapshot memory;
    std::string reasons;
    for (const RegistryLayout& layout : registry_layouts) {
        try {
            return {layout.name, walk(memory, map, layout, image)};
        } catch (const Misfit& misfit) {
            reasons += std::string(reasons.empty() ? "" : "; ") + layout.name + ": " + misfit.what();
        }
    }
    throw Misfit("the registry of options has no layout that is known here (" + reasons + ")");
}

}  // namespace optctx::image
