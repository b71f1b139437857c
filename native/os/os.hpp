// The one layer that talks to the operating system. Every failure is thrown as an OsError that names
// the call, the address and the reason; nothing defaults to zero.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace optctx::os {

class OsError : public std::runtime_error {
public:
    OsError(const std::string& call, std::uintptr_t address, int code);
    int code() const noexcept { return code_; }

private:
    int code_;
};

struct MappedRange {
    std::uintptr_t begin;
    std::uintptr_t end;
    bool readable;
    bool writable;
    bool executable;
    // What is mapped there; no device, inode and path where that is no file.
    std::uint64_t offset = 0;  // bytes into the file
    dev_t device = 0;
    ino_t inode = 0;
    std::string path;
};

// A snapshot of this process's address space, sorted by address.
std::vector<MappedRange> address_space();
// True if [address, address + size) lies in ranges that can be read.
bool is_readable(const std::vector<MappedRange>& space, std::uintptr_t address, std::size_t size);
// True if every byte of it can be written.
bool is_writable(const std::vector<MappedRange>& space, std::uintptr_t address, std::size_t size);

// Owns a file that is open for reading; false if it could not be opened.
class Descriptor {
public:
    Descriptor() = default;
    explicit Descriptor(const std::string& path) noexcept;
    Descriptor(Descriptor&& other) noexcept;
    Descriptor& operator=(Descriptor&& other) noexcept;
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor();
    int number() const noexcept { return number_; }
    explicit operator bool() const noexcept { return number_ >= 0; }

private:
    int number_ = -1;
};

// Owns an anonymous mapping.
class Mapping {
public:
    Mapping() = default;
    Mapping(void* address, std::size_t size) : address_(address), size_(size) {}
    Mapping(Mapping&& other) noexcept;
    Mapping& operator=(Mapping&& other) noexcept;
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    ~Mapping();

    std::uint8_t* data() const noexcept { return static_cast<std::uint8_t*>(address_); }
    std::uintptr_t address() const noexcept { return reinterpret_cast<std::uintptr_t>(address_); }
    std::size_t size() const noexcept { return size_; }
    // Gives up ownership: the pages stay for the life of the process.
    void leak() noexcept { address_ = nullptr; }

private:
    void* address_ = nullptr;
    std::size_t size_ = 0;
};

// Maps `size` writable bytes so that every byte is within 2 GiB (rel32) of every byte of [begin, end).
Mapping map_near(std::uintptr_t begin, std::uintptr_t end, std::size_t size);
// Maps at least `size` bytes that can be neither read nor written.
Mapping map_nothing(std::size_t size);

// Owns a read-only mapping of a whole file.
class MappedFile {
public:
    explicit MappedFile(const std::string& path);
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    ~MappedFile();
    const std::uint8_t* data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }
    // Takes its pages out of this process's resident memory; the next access brings them back.
    void release_pages() const noexcept;

private:
    const std::uint8_t* data_ = nullptr;
    std::size_t size_ = 0;
};

enum class Access : std::uint8_t { none, read, read_write, read_execute, read_write_execute };
// What a range allows.
Access access_of(const MappedRange& range);
// Changes the protection of the pages that hold [begin, end).
void protect(std::uintptr_t begin, std::uintptr_t end, Access access);
// The same for whole pages, from a signal handler, with errno left as it was: 0 or the error number.
int try_protect(std::uintptr_t begin, std::uintptr_t end, Access access) noexcept;
std::size_t page_size();

// Writes to standard error, past every buffer; where that fails, nobody could be told.
void say(const std::string& text) noexcept;

// Sleeps while the word has that value, until `wake_all`, until the time is over, or for no reason.
void sleep_while(const std::atomic<std::uint32_t>& word, std::uint32_t value,
                 std::optional<std::chrono::nanoseconds> time) noexcept;
void wake_all(const std::atomic<std::uint32_t>& word) noexcept;

// Sleeps until the process ends.
[[noreturn]] void stop_this_thread() noexcept;
// Copies memory of this process that another thread may be freeing; false if it is not there any more. Where the kernel
// does not do that for anybody, reads it as any code does.
bool read_own(std::uintptr_t address, void* to, std::size_t size) noexcept;
// Copies memory of this process, whatever the address is: false if any byte cannot be read. Never faults. Throws
// OsError if the kernel permits neither process_vm_readv nor /proc/self/mem.
bool read_checked(std::uintptr_t address, void* to, std::size_t size);
// Reads memory of this process whatever its protection is.
class OwnMemory {
public:
    OwnMemory();
    OwnMemory(const OwnMemory&) = delete;
    OwnMemory& operator=(const OwnMemory&) = delete;
    ~OwnMemory();
    // Safe in a signal handler; false where it fails, and in a child of fork, whose memory is another.
    bool read(std::uintptr_t address, void* to, std::size_t size) const noexcept;

private:
    int file_;
    int process_;
};

// Number of threads in this process now.
std::size_t thread_count();
// Ids of threads that block `signal`; such a thread would be killed by a fault instead of handling it.
std::vector<int> threads_blocking(int signal);

}  // namespace optctx::os
