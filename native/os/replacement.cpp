#include "os/replacement.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

namespace optctx::os {
namespace {

class Descriptor {
public:
    explicit Descriptor(const char* path) : number_(open(path, O_RDONLY | O_CLOEXEC)) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() {
        if (number_ >= 0) close(number_);
    }
    int number() const noexcept { return number_; }
    explicit operator bool() const noexcept { return number_ >= 0; }

private:
    int number_;
};

std::string in_words(std::uintptr_t begin, std::uintptr_t end) {
    char text[64];
    std::snprintf(text, sizeof text, "%#lx-%#lx", static_cast<unsigned long>(begin), static_cast<unsigned long>(end));
    return text;
}

// What is mapped at `begin`. Throws unless all of [begin, end) is code from consecutive bytes of one file, or of none.
MappedRange source_of(std::uintptr_t begin, std::uintptr_t end) {
    MappedRange source{};
    std::uintptr_t reached = begin;
    for (MappedRange& range : address_space()) {
        if (range.end <= reached || range.begin >= end) continue;
        if (range.begin > reached || !range.readable || range.writable || !range.executable) break;
        const bool first = reached == begin;
        const std::uint64_t offset = range.offset + (reached - range.begin);
        reached = range.end;
        if (first) {
            source = std::move(range);
            source.offset = offset;
        } else if (range.inode != source.inode || range.device != source.device ||
                   (range.inode != 0 && offset != source.offset + (range.begin - begin))) {
            throw std::runtime_error("the code at " + in_words(begin, end) + " is mapped from several places");
        }
    }
    if (reached < end)
        throw std::runtime_error("the pages at " + in_words(begin, end) + " are not all mapped as code (r-xp)");
    return source;
}

// The page's entry in /proc/self/pagemap says that this process has a copy of its own (bit 61: still the file's).
bool is_private_copy(std::uint64_t entry) {
    constexpr std::uint64_t present = std::uint64_t{1} << 63;
    constexpr std::uint64_t swapped = std::uint64_t{1} << 62;
    constexpr std::uint64_t of_file = std::uint64_t{1} << 61;
    return (entry & (present | swapped)) != 0 && (entry & of_file) == 0;
}

// Entries of /proc/self/pagemap for the pages in [begin, end); nothing where the kernel does not tell.
std::optional<std::vector<std::uint64_t>> page_entries(std::uintptr_t begin, std::uintptr_t end) {
    const Descriptor file("/proc/self/pagemap");
    if (!file) return std::nullopt;
    std::vector<std::uint64_t> entries((end - begin) / page_size());
    const std::size_t size = entries.size() * sizeof(std::uint64_t);
    const auto offset = static_cast<off_t>(begin / page_size() * sizeof(std::uint64_t));
    if (pread(file.number(), entries.data(), size, offset) != static_cast<ssize_t>(size)) return std::nullopt;
    return entries;
}

std::uintptr_t page_of(std::uintptr_t address) { return address & ~(page_size() - 1); }

void check_step(std::size_t step, std::size_t fail_at, const char* call, std::uintptr_t address) {
    if (step == fail_at) throw OsError(std::string(call) + " (asked to fail)", address, ENOMEM);
}

}  // namespace

Replacement::Replacement(std::uintptr_t begin, std::uintptr_t end)
    : begin_(page_of(begin)), end_(page_of(end + page_size() - 1)), page_(page_size()) {
    const MappedRange source = source_of(begin_, end_);
    const Descriptor file(source.path.c_str());
    struct stat status{};
    const std::size_t size = end_ - begin_;
    // Reading past the end of a file that was cut short is a SIGBUS.
    const bool has_file = source.inode != 0 && file && fstat(file.number(), &status) == 0 &&
                          static_cast<std::uint64_t>(status.st_size) >= source.offset + size;
    same_file_ = has_file && status.st_ino == source.inode && status.st_dev == source.device;
    // Without the file it is memory of our own, which then holds every page.
    void* got = has_file ? mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file.number(),
                                static_cast<off_t>(source.offset))
                         : mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (got == MAP_FAILED) throw OsError("mmap of a second copy of the code", begin_, errno);
    mapping_ = Mapping(got, size);
}

void Replacement::fill() {
    // In the very file that is mapped, a page that is nobody's own copy is as it is in memory. It is not even touched.
    const auto entries = same_file_ ? page_entries(begin_, end_) : std::nullopt;
    const Edit* edit = edits_.data();
    const Edit* const last = edit + edits_.size();
    for (std::size_t i = 0; i < mapping_.size() / page_size(); ++i) {
        const std::uintptr_t page = begin_ + i * page_size();
        while (edit != last && edit->end() <= page) ++edit;
        const bool edited = edit != last && edit->address < page + page_size();
        if (edited || !entries || is_private_copy((*entries)[i])) fill_page(page, edit, last);
    }
}

void Replacement::fill_page(std::uintptr_t page, const Edit* first, const Edit* last) {
    std::memcpy(page_.data(), reinterpret_cast<const void*>(page), page_size());
    for (const Edit* edit = first; edit != last && edit->address < page + page_size(); ++edit) {
        const std::uintptr_t from = std::max(edit->address, page);
        const std::uintptr_t to = std::min(edit->end(), page + page_size());
        std::memcpy(page_.data() + (from - page), edit->bytes.data() + (from - edit->address), to - from);
    }
    std::uint8_t* target = mapping_.data() + (page - begin_);
    if (std::memcmp(target, page_.data(), page_size()) != 0)
        std::memcpy(target, page_.data(), page_size());
    else
        madvise(target, page_size(), MADV_DONTNEED);  // need not be resident for having been compared
}

void Replacement::install(std::size_t fail_at) {
    fill();
    check_step(1, fail_at, "mprotect", mapping_.address());
    protect(mapping_.address(), mapping_.address() + mapping_.size(), Access::read_execute);
    check_step(2, fail_at, "mremap of changed code", begin_);
    void* const target = reinterpret_cast<void*>(begin_);
    const auto move = [&] {
        return mremap(mapping_.data(), mapping_.size(), mapping_.size(), MREMAP_MAYMOVE | MREMAP_FIXED, target) ==
               target;
    };
    if (!move()) {
        const int code = errno;
        // The kernel checks everything before it takes the old pages away. If its own memory runs out after that, the
        // library has no code any more: there is no way but on.
        bool moved = false;
        while (!is_readable(address_space(), begin_, mapping_.size()) && !(moved = move())) usleep(1000);
        if (!moved) throw OsError("mremap of changed code", begin_, code);
    }
    mapping_.leak();  // it is where the code was
}

}  // namespace optctx::os
