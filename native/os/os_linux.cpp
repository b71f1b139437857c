#include "os/os.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <malloc.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

namespace optctx::os {
namespace {

const auto size_of_page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));

std::int64_t nanoseconds(const timespec& time) { return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec; }

}  // namespace

std::string hex(std::uintptr_t address) {
    char text[32];
    std::snprintf(text, sizeof text, "0x%" PRIxPTR, address);
    return text;
}

OsError::OsError(const std::string& call, std::uintptr_t address, int code)
    : std::runtime_error(call + " failed" + (address != 0 ? " at " + hex(address) : "") + ": " + std::strerror(code)) {}

std::vector<MappedRange> address_space() {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/self/maps", "re"), &std::fclose);
    if (!file) throw OsError("open /proc/self/maps", 0, errno);
    std::vector<MappedRange> ranges;
    struct Line {  // of any length: a newline in a path takes four characters there
        char* text = nullptr;
        std::size_t room = 0;
        ~Line() { std::free(text); }
    } line;
    while (getline(&line.text, &line.room, file.get()) > 0) {
        MappedRange range{};
        char flags[5] = "";
        unsigned major = 0;
        unsigned minor = 0;
        int path = 0;
        if (std::sscanf(line.text, "%" SCNxPTR "-%" SCNxPTR " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &range.begin,
                        &range.end, flags, &range.offset, &major, &minor, &range.inode, &path) != 7)
            throw OsError("parse /proc/self/maps", 0, EPROTO);
        range.access = Access{(flags[0] == 'r' ? PROT_READ : 0) | (flags[1] == 'w' ? PROT_WRITE : 0) |
                              (flags[2] == 'x' ? PROT_EXEC : 0)};
        if (range.inode != 0) {
            range.device = makedev(major, minor);
            range.path.assign(line.text + path, std::strcspn(line.text + path, "\n"));
        }
        ranges.push_back(std::move(range));
    }
    return ranges;
}

Descriptor::Descriptor(const std::string& path) noexcept
    : number_(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)) {}

Descriptor::~Descriptor() {
    if (number_ >= 0) close(number_);
}

Mapping map_near(std::uintptr_t begin, std::uintptr_t end, std::size_t size) {
    constexpr std::uintptr_t reach = (std::uintptr_t{1} << 31) - (std::uintptr_t{1} << 20);
    const std::uintptr_t low = end > reach ? end - reach : page_size();
    const std::uintptr_t high = begin + reach;
    std::uintptr_t free_from = low;
    auto space = address_space();
    space.push_back({high, high, Access::none, 0, 0, 0, {}});
    for (const MappedRange& range : space) {
        // Stay one page away from neighbours, so that a stack or heap can still grow.
        const std::uintptr_t at = free_from + page_size();
        if (range.begin >= at + size + page_size() && at + size <= high) {
            void* got = mmap(reinterpret_cast<void*>(at), size, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
            if (got == reinterpret_cast<void*>(at)) return Mapping(got, size);
            if (got != MAP_FAILED) munmap(got, size);  // the kernel does not know MAP_FIXED_NOREPLACE
        }
        free_from = std::max(free_from, range.end);
    }
    throw OsError("mmap of trampolines within 2 GiB of the code", begin, ENOMEM);
}

Mapping map_nothing(std::size_t size) {
    size = (size + page_size() - 1) / page_size() * page_size();
    void* got = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED) throw OsError("mmap", 0, errno);
    return Mapping(got, size);
}

MappedFile::MappedFile(const std::string& path) {
    const Descriptor file(path);
    if (!file) throw OsError("open " + path, 0, errno);
    struct stat status{};
    if (fstat(file.number(), &status) != 0) throw OsError("fstat " + path, 0, errno);
    if (!S_ISREG(status.st_mode)) throw std::runtime_error(path + ": not a regular file");
    const auto size = static_cast<std::size_t>(status.st_size);
    identity_ = {status.st_dev, status.st_ino, size, nanoseconds(status.st_mtim), nanoseconds(status.st_ctim)};
    void* got = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
    if (got == MAP_FAILED) throw OsError("mmap " + path, 0, errno);
    mapping_ = Mapping(got, size);
}

void MappedFile::release_pages() const noexcept {
    madvise(mapping_.data(), mapping_.size(), MADV_DONTNEED);  // failure has no consequence
}

void trim_heap() noexcept { malloc_trim(0); }

void protect(std::uintptr_t begin, std::uintptr_t end, Access access) {
    const std::uintptr_t mask = page_size() - 1;
    const std::uintptr_t first = begin & ~mask;
    const std::uintptr_t last = (end + mask) & ~mask;
    if (const int failed = try_protect(first, last, access); failed != 0) throw OsError("mprotect", first, failed);
}

int try_protect(std::uintptr_t begin, std::uintptr_t end, Access access) noexcept {
    const int before = errno;
    const int failed = mprotect(reinterpret_cast<void*>(begin), end - begin, static_cast<int>(access)) == 0 ? 0 : errno;
    errno = before;
    return failed;
}

std::size_t page_size() { return size_of_page; }

void sleep_while(const std::atomic<std::uint32_t>& word, std::uint32_t value, std::chrono::nanoseconds time) noexcept {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
    const timespec limit{static_cast<time_t>(seconds.count()), static_cast<long>((time - seconds).count())};
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, &limit, nullptr, 0);
}

void wake_all(const std::atomic<std::uint32_t>& word) noexcept {
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

void stop_this_thread() noexcept {
    for (;;) pause();
}

bool read_checked(std::uintptr_t address, void* to, std::size_t size) {
    if (size == 0) return true;
    iovec local{to, size};
    iovec remote{reinterpret_cast<void*>(address), size};
    const ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    if (got >= 0) return got == static_cast<ssize_t>(size);
    // A seccomp filter or a kernel without the call; any other error is about this address and this size.
    if (errno != EPERM && errno != ENOSYS) return false;
    const Descriptor memory("/proc/self/mem");
    if (!memory) throw OsError("open /proc/self/mem", 0, errno);
    return pread(memory.number(), to, size, static_cast<off_t>(address)) == static_cast<ssize_t>(size);
}

}  // namespace optctx::os
