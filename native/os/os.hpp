// The only layer that calls the operating system. A failure throws an OsError with the call, the address if there is
// one, and the reason, unless the comment says otherwise.
#pragma once

#include <sys/mman.h>
#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace optctx::os {

// Return an address as messages write it: 0x7f01.
std::string hex(std::uintptr_t address);

struct OsError : std::runtime_error {
    OsError(const std::string& call, std::uintptr_t address, int code);
};

// As mprotect(2) takes it, which has more than these.
enum class Access : int {
    none = PROT_NONE,
    read_write = PROT_READ | PROT_WRITE,
    read_execute = PROT_READ | PROT_EXEC,
};

struct MappedRange {
    bool permits(int protection) const noexcept { return (static_cast<int>(access) & protection) != 0; }

    std::uintptr_t begin;
    std::uintptr_t end;
    Access access;
    // The mapped file; device, inode and path are empty without a file.
    std::uint64_t offset = 0;  // bytes into the file
    dev_t device = 0;
    ino_t inode = 0;
    std::string path;
};

// A snapshot of this process's address space, sorted by address.
std::vector<MappedRange> address_space();

// Owns a file that is open for reading. Converts to false if the file could not be opened. Waits for no writer of a
// FIFO.
class Descriptor {
public:
    explicit Descriptor(const std::string& path) noexcept;
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor();
    int number() const noexcept { return number_; }
    explicit operator bool() const noexcept { return number_ >= 0; }

private:
    int number_;
};

// Owns a private mapping.
class Mapping {
public:
    Mapping() = default;
    Mapping(void* address, std::size_t size) : bytes_(static_cast<std::uint8_t*>(address), {size}) {}

    std::uint8_t* data() const noexcept { return bytes_.get(); }
    std::uintptr_t address() const noexcept { return reinterpret_cast<std::uintptr_t>(data()); }
    std::size_t size() const noexcept { return bytes_.get_deleter().size; }
    // Gives up ownership: the pages stay mapped until the process ends.
    void leak() noexcept { static_cast<void>(bytes_.release()); }

private:
    struct Unmap {
        std::size_t size;
        void operator()(std::uint8_t* bytes) const noexcept { munmap(bytes, size); }
    };
    std::unique_ptr<std::uint8_t, Unmap> bytes_;
};

// Maps `size` writable bytes so that every byte is within 2 GiB (rel32) of every byte of [begin, end).
Mapping map_near(std::uintptr_t begin, std::uintptr_t end, std::size_t size);
// Maps at least `size` bytes that cannot be read or written.
Mapping map_nothing(std::size_t size);

// Which file it is, and which content of it.
struct FileIdentity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t size = 0;     // bytes
    std::int64_t modified = 0;  // nanoseconds; so is `changed`
    std::int64_t changed = 0;
};

// Owns a read-only mapping of a whole regular file.
class MappedFile {
public:
    explicit MappedFile(const std::string& path);
    const std::uint8_t* data() const noexcept { return mapping_.data(); }
    std::size_t size() const noexcept { return mapping_.size(); }
    // Of the file that is mapped, as it was then.
    const FileIdentity& identity() const noexcept { return identity_; }
    // Removes its pages from this process's resident memory; the next access loads them again.
    void release_pages() const noexcept;

private:
    Mapping mapping_;
    FileIdentity identity_;
};

// Changes the protection of the pages that hold [begin, end).
void protect(std::uintptr_t begin, std::uintptr_t end, Access access);
// Does the same for whole pages in a signal handler, and preserves errno. Returns 0 or the error number.
int try_protect(std::uintptr_t begin, std::uintptr_t end, Access access) noexcept;
std::size_t page_size();
// Gives the heap's free pages back to the system.
void trim_heap() noexcept;

// Sleeps while `word` equals `value`. Returns after `wake_all`, after the time has elapsed, or spuriously.
void sleep_while(const std::atomic<std::uint32_t>& word, std::uint32_t value, std::chrono::nanoseconds time) noexcept;
void wake_all(const std::atomic<std::uint32_t>& word) noexcept;

// Sleeps until the process ends.
[[noreturn]] void stop_this_thread() noexcept;
// Copies memory of this process, whatever the address is, also while another thread frees it: false if any byte cannot
// be read. Never faults. Throws OsError if the kernel permits neither process_vm_readv nor /proc/self/mem.
bool read_checked(std::uintptr_t address, void* to, std::size_t size);

}  // namespace optctx::os
