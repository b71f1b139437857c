// The regions of one image and what was registered for each: where every context starts.
#pragma once

#include "os/fork_locks.hpp"
#include "view/capture.hpp"
#include "view/debugging.hpp"
#include "view/layout.hpp"
#include "view/region.hpp"
#include "view/shadow.hpp"
#include "view/slots.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace optctx::view {

// LLVM's parser refused a value; what() holds its words.
struct ParseError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Patch {
    std::uint32_t slot;
    std::shared_ptr<Block> block;
};
// The storage that gives one option one value: the option object and, with external storage, its variable.
using Setting = std::vector<Patch>;

// LLVM's own functions that work on options, and what they complain to.
struct LlvmCalls {
    std::uintptr_t add_occurrence = 0;  // Option::addOccurrence(unsigned, StringRef, StringRef, bool)
    std::unique_ptr<Reporter> reporter;
};

// What LLVM's own storage is aligned to, at most, in bytes.
constexpr std::size_t padded(std::size_t size) { return (size + 15) / 16 * 16; }

// In the storage of the regions that every activation copies: a string that LLVM may assign to.
struct OwningWord {
    std::uint32_t slot;
    std::size_t object_at;  // bytes from the start of the storage
    std::size_t at;         // of the word that owns
    std::size_t index;      // of that word among the hot words
};

// Likewise: a std::set that LLVM may add to, or replace.
struct CopiedSet {
    std::uint32_t slot;
    std::size_t object_at;  // bytes from the start of the storage
};

// Likewise: a pointer to `offset` bytes into the storage of another region.
struct CopiedPointer {
    std::size_t at;
    std::uint32_t slot;
    std::size_t offset;
};

class Overlay;

class Space {
public:
    // With a layout, threads read regions through views; without, all of them read LLVM's own storage.
    Space(unsigned image, std::vector<Region> regions, std::vector<std::uint32_t> set_default_index, LlvmCalls calls,
          std::shared_ptr<const Layout> layout);
    Space(const Space&) = delete;
    Space& operator=(const Space&) = delete;
    ~Space();

    unsigned image() const noexcept { return image_; }
    const std::vector<Region>& regions() const noexcept { return regions_; }
    // Null where nothing is redirected.
    const std::shared_ptr<const Layout>& layout() const noexcept { return layout_; }
    // Slots whose regions every activation copies, because LLVM writes them or takes their address, and what
    // those copies take together, in bytes.
    const std::vector<std::uint32_t>& copied() const noexcept { return copied_; }
    std::size_t copied_bytes() const noexcept { return copied_bytes_; }
    // Where LLVM's writes go in those copies, in bytes from their start: values and occurrence counts.
    const std::vector<std::uint32_t>& hot_words() const noexcept { return hot_words_; }
    // Of these, by index, those of options and their variables.
    const std::vector<std::uint32_t>& option_words() const noexcept { return option_words_; }
    const std::vector<OwningWord>& owning_words() const noexcept { return owning_words_; }
    const std::vector<CopiedSet>& copied_sets() const noexcept { return copied_sets_; }
    const std::vector<CopiedPointer>& copied_pointers() const noexcept { return copied_pointers_; }
    // Storage for such copies. Given back it is used again, never freed: LLVM may have kept an address into it.
    std::unique_ptr<Block> take_copies();
    void give_copies(std::unique_ptr<Block> block) noexcept;
    // A view of what was registered; regions that are not scoped show LLVM's globals.
    void* const* defaults() const noexcept { return defaults_.data(); }

    // Gives the values, one after another, to LLVM's own parser for the option in `slot`, as occurrences
    // under `name`; nullopt is a flag without a value. LLVM's globals are not touched and nothing is
    // printed. Throws ParseError.
    Setting parse(std::uint32_t slot, const std::string& name, const std::vector<std::optional<std::string>>& values);

    // The same for LLVM's own object at `option`: reaches the whole process. Throws ParseError half-way.
    void add_occurrences(void* option, const std::string& name, const std::vector<std::optional<std::string>>& values);

    // What is different, process-wide and at this moment, from what was registered. The same object comes
    // back as long as nothing changes.
    std::shared_ptr<const Setting> drift();

    // Gives contexts debug output of their own (view/debugging.hpp). Before anything is redirected.
    void scope_debugging(const Debugging::Places& places);
    Debugging* debugging() const noexcept { return debugging_.get(); }

    // Of a space that is not redirected; made when first asked for, with nobody inside LLVM.
    Overlay& overlay();
    // Guards LLVM's own storage where a context's values are put into it (view/overlay.hpp). From `cover` to
    // `uncover`, both called with it held, what was there before counts as process-wide.
    os::ForkSafeLock hold_storage();
    void cover();
    void uncover() noexcept;

private:
    void add_copied(std::uint32_t slot);
    void copy_state(std::uint32_t slot);
    void build_defaults(const std::vector<std::uint32_t>& set_default_index);
    Setting clone_process_wide(std::uint32_t slot) const;
    Setting parse_locked(std::uint32_t slot, const std::string& name,
                         const std::vector<std::optional<std::string>>& values);
    void give_occurrences(void* option, const std::string& name, const std::vector<std::optional<std::string>>& values);
    bool drifted(std::uint32_t slot, void* const* reference) const;
    std::vector<std::int32_t> process_wide_set(std::uint32_t slot) const;
    const void* process_wide(std::uint32_t slot) const noexcept;
    const void* live(std::uint32_t slot) const noexcept;
    void find_drift();

    unsigned image_;
    std::vector<Region> regions_;
    LlvmCalls calls_;
    std::shared_ptr<const Layout> layout_;
    std::vector<std::uint32_t> options_;  // scoped option slots
    std::vector<std::uint32_t> copied_;
    std::size_t copied_bytes_ = 0;
    std::vector<std::uint32_t> hot_words_;
    std::vector<std::uint32_t> option_words_;
    std::vector<OwningWord> owning_words_;
    std::vector<CopiedSet> copied_sets_;
    std::vector<CopiedPointer> copied_pointers_;
    std::vector<std::shared_ptr<Block>> default_blocks_;
    std::vector<void*> defaults_;

    os::ForkSafeMutex pool_mutex_{os::Rank::copies};
    std::vector<std::unique_ptr<Block>> pool_;

    os::ForkSafeMutex parse_mutex_{os::Rank::parsing};
    using Occurrences = std::tuple<std::uint32_t, std::string, std::vector<std::optional<std::string>>>;
    std::map<Occurrences, Setting> kept_;  // settings that must live for ever

    os::ForkSafeMutex storage_mutex_{os::Rank::storage};
    bool covered_ = false;
    std::unique_ptr<Overlay> overlay_;
    std::unique_ptr<Debugging> debugging_;
    std::vector<void*> last_view_;  // defaults with the last drift on top
    std::shared_ptr<const Setting> last_drift_;
};

}  // namespace optctx::view
