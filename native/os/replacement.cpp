#include "os/replacement.hpp"

#include <fcntl.h>
#include <linux/membarrier.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

namespace optctx::os {
namespace {

// Returns the mapping at `begin`. Throws unless all of [begin, end) is code from consecutive bytes of one file, or
// anonymous.
MappedRange source_of(std::uintptr_t begin, std::uintptr_t end) {
    MappedRange source{};
    std::uintptr_t reached = begin;
    for (MappedRange& range : address_space()) {
        if (range.end <= reached || range.begin >= end) continue;
        if (range.begin > reached || range.access != Access::read_execute) break;
        const bool first = reached == begin;
        const std::uint64_t offset = range.offset + (reached - range.begin);
        reached = range.end;
        if (first) {
            source = std::move(range);
            source.offset = offset;
        } else if (range.inode != source.inode || range.device != source.device ||
                   (range.inode != 0 && offset != source.offset + (range.begin - begin))) {
            throw std::runtime_error("the code at " + hex(begin) + "-" + hex(end) + " is mapped from several places");
        }
    }
    if (reached < end)
        throw std::runtime_error("the pages at " + hex(begin) + "-" + hex(end) + " are not all mapped as code (r-xp)");
    return source;
}

// True if the page's entry in /proc/self/pagemap says that this process has its own copy (bit 61: file page).
bool is_private_copy(std::uint64_t entry) {
    constexpr std::uint64_t present = std::uint64_t{1} << 63;
    constexpr std::uint64_t swapped = std::uint64_t{1} << 62;
    constexpr std::uint64_t of_file = std::uint64_t{1} << 61;
    return (entry & (present | swapped)) != 0 && (entry & of_file) == 0;
}

// Returns the entries of /proc/self/pagemap for the pages in [begin, end), or nullopt if the kernel does not provide
// them.
std::optional<std::vector<std::uint64_t>> page_entries(std::uintptr_t begin, std::uintptr_t end) {
    const Descriptor file(std::string("/proc/self/pagemap"));
    if (!file) return std::nullopt;
    std::vector<std::uint64_t> entries((end - begin) / page_size());
    const std::size_t size = entries.size() * sizeof(std::uint64_t);
    const auto offset = static_cast<off_t>(begin / page_size() * sizeof(std::uint64_t));
    if (pread(file.number(), entries.data(), size, offset) != static_cast<ssize_t>(size)) return std::nullopt;
    return entries;
}

// Returns once every processor that runs a thread of this process has executed a serialising instruction. Without the
// command, which Linux has had since 4.16 and a sandbox may forbid, does nothing (design/patching.md says why that will
// do).
void serialise_processors() noexcept {
    constexpr auto membarrier = [](int command) { return syscall(SYS_membarrier, command, 0, 0); };
    if (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE) == 0)
        membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE);
}

std::uintptr_t page_of(std::uintptr_t address) { return address & ~(page_size() - 1); }

}  // namespace

Replacement::Replacement(std::uintptr_t begin, std::uintptr_t end)
    : begin_(page_of(begin)),
      end_(page_of(end + page_size() - 1)),
      source_(source_of(begin_, end_)),
      file_(source_.path),
      page_(page_size()) {
    struct stat status{};
    const std::size_t size = end_ - begin_;
    // Reading past the end of a truncated file raises SIGBUS.
    has_file_ = source_.inode != 0 && file_ && fstat(file_.number(), &status) == 0 &&
                static_cast<std::uint64_t>(status.st_size) >= source_.offset + size;
    same_file_ = has_file_ && status.st_ino == source_.inode && status.st_dev == source_.device;
    // Without the file, use anonymous memory, and fill every page.
    const auto offset = static_cast<off_t>(source_.offset);
    void* got = has_file_ ? mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file_.number(), offset)
                          : mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (got == MAP_FAILED) throw OsError("mmap of a second copy of the code", begin_, errno);
    mapping_ = Mapping(got, size);
}

void Replacement::fill() {
    // If the file is the mapped one, a page without a private copy already has the right contents but for the edits:
    // the kernel copies it at the first of them. Without any, do not even touch it.
    const auto entries = same_file_ ? page_entries(begin_, end_) : std::nullopt;
    const Edit* edit = edits_.data();
    const Edit* const last = edit + edits_.size();
    for (std::size_t i = 0; i < mapping_.size() / page_size(); ++i) {
        const std::uintptr_t page = begin_ + i * page_size();
        while (edit != last && edit->end() <= page) ++edit;
        const bool is_files = entries && !is_private_copy((*entries)[i]);
        if (is_files)
            edit_page(page, edit, last, mapping_.data() + i * page_size());
        else
            fill_page(page, edit, last);
    }
}

void Replacement::edit_page(std::uintptr_t page, const Edit* first, const Edit* last, std::uint8_t* copy) {
    for (const Edit* edit = first; edit != last && edit->address < page + page_size(); ++edit) {
        const std::uintptr_t from = std::max(edit->address, page);
        const std::size_t size = std::min(edit->end(), page + page_size()) - from;
        const std::uint8_t* const bytes = edit->bytes.data() + (from - edit->address);
        if (std::memcmp(reinterpret_cast<const void*>(from), bytes, size) != 0)
            std::memcpy(copy + (from - page), bytes, size);
    }
}

void Replacement::fill_page(std::uintptr_t page, const Edit* first, const Edit* last) {
    std::memcpy(page_.data(), reinterpret_cast<const void*>(page), page_size());
    edit_page(page, first, last, page_.data());
    // Read the file, not the mapping: a read there would make neighbouring pages resident, too.
    if (!is_in_file(page)) std::memcpy(mapping_.data() + (page - begin_), page_.data(), page_size());
}

bool Replacement::is_in_file(std::uintptr_t page) {
    if (!has_file_) return false;
    in_file_.resize(page_size());
    const off_t at = static_cast<off_t>(source_.offset + (page - begin_));
    const ssize_t got = pread(file_.number(), in_file_.data(), in_file_.size(), at);
    return got == static_cast<ssize_t>(in_file_.size()) && in_file_ == page_;
}

void Replacement::install() {
    fill();
    protect(mapping_.address(), mapping_.address() + mapping_.size(), Access::read_execute);
    void* const target = reinterpret_cast<void*>(begin_);
    const auto move = [&] {
        return mremap(mapping_.data(), mapping_.size(), mapping_.size(), MREMAP_MAYMOVE | MREMAP_FIXED, target) ==
               target;
    };
    if (!move()) {
        const int code = errno;
        // The kernel validates everything before it removes the old pages, all of them. If it runs out of memory after
        // that, the library has no code, so retrying is the only option.
        bool moved = false;
        std::uint8_t first;
        while (!read_checked(begin_, &first, 1) && !(moved = move())) usleep(1000);
        if (!moved) throw OsError("mremap of changed code", begin_, code);
    }
    serialise_processors();
    mapping_.leak();  // it is now the library's code
}

}  // namespace optctx::os
