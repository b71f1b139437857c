// A library with the shapes of an LLVM that people build: what optctx proves and redirects of
// llvm/Support/CommandLine.h, under the names and with the layouts of LLVM 19, and no more. Its options have a callback
// that does nothing, its strings are libstdc++'s newer ones, and code reaches the exported ones past the global offset
// table. With LIBCXX, it is as clang builds one with libc++ and ThinLTO.
#include <unistd.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#ifdef LIBCXX
#include "libcxx.hpp"
using Text = std::__1::string;
template <class Signature>
using Function = std::__1::function<Signature>;
#define THIN(name) asm(name ".llvm.1234567890")  // of what ThinLTO makes visible to other files
#else
using Text = std::string;
template <class Signature>
using Function = std::function<Signature>;
#define THIN(name)
#endif

namespace llvm {

#ifdef IDLE_ELSEWHERE  // a compiler that names the callback by another scope
inline constexpr auto idle = [](const auto&) {};
#define IDLE idle
#else
#define IDLE [](const T&) {}
#endif

struct StringRef {
    const char* data;
    std::size_t size;
    std::string str() const { return std::string(data, size); }
};

class raw_ostream {
public:
    virtual ~raw_ostream() = default;
    void write(const char* text, std::size_t size) { write_impl(text, size); }  // never buffered

private:
    [[maybe_unused]] int kind_ = 0;
    [[maybe_unused]] char* buffer_[3] = {};
    virtual void write_impl(const char* text, std::size_t size) = 0;
};

class raw_fd_ostream : public raw_ostream {
public:
    explicit raw_fd_ostream(int descriptor);

private:
    int descriptor_;
    void write_impl(const char* text, std::size_t size) override;
};

[[gnu::noinline]] raw_fd_ostream::raw_fd_ostream(int descriptor) : descriptor_(descriptor) {}

void raw_fd_ostream::write_impl(const char* text, std::size_t size) {
    if (::write(descriptor_, text, size) < 0) std::abort();
}

raw_ostream& errs();
raw_ostream& errs() {
    static raw_fd_ostream S THIN("_ZZN4llvm4errsEvE1S")(2);
    return S;
}

void report_fatal_error(const char* reason);
void install_fatal_error_handler(void (*handler)(void*, const char*, bool), void* data);

namespace cl {

class Option;

class SubCommand {
public:
    static SubCommand& getTopLevel();
};
SubCommand& SubCommand::getTopLevel() {
    static SubCommand top;
    return top;
}

struct Entry {
    std::size_t length;
    Option* option;
    char key[64];
};
struct StringMap {
    Entry** table;
    unsigned buckets, items, tombstones, item_size;
};
StringMap& getRegisteredOptions(SubCommand&);
StringMap& getRegisteredOptions(SubCommand&) {
    static Entry* entries[65];
    static StringMap map{entries, 64, 0, 0, 16};
    return map;
}

class Option {
    virtual bool handleOccurrence(unsigned position, StringRef name, StringRef value) = 0;
    virtual unsigned getValueExpectedFlagDefault() const { return 2; }  // ValueRequired
    virtual void anchor();

public:
    virtual ~Option() = default;
    virtual std::size_t getOptionWidth() const { return 0; }
    virtual void printOptionInfo(std::size_t) const {}
    virtual void printOptionValue(std::size_t, bool) const {}
    virtual void setDefault() = 0;
    virtual void getExtraOptionNames(void*) {}
    void reset();
    virtual bool addOccurrence(unsigned position, StringRef name, StringRef value, bool several);

protected:
    explicit Option(const char* name) : name_{name, std::strlen(name)} {
        StringMap& map = getRegisteredOptions(SubCommand::getTopLevel());
        auto* entry = new Entry{name_.size, this, {}};
        std::memcpy(entry->key, name, name_.size);
        map.table[map.items++] = entry;
    }
    std::uint16_t occurrences_ = 0;
    std::uint16_t bits_ = 0;
    unsigned position_ = 0;

private:
    StringRef name_;
    StringRef help_{"", 0};
    StringRef value_name_{"", 0};
    const void* categories_ = inline_category_;
    [[maybe_unused]] unsigned category_counts_[2] = {0, 1};
    void* inline_category_[1] = {};
    [[maybe_unused]] void* subcommands_[5] = {};
};
static_assert(sizeof(Option) == 0x80);

void Option::anchor() {}

void Option::reset() {
    occurrences_ = 0;
    setDefault();
}

bool Option::addOccurrence(unsigned position, StringRef name, StringRef value, bool) {
    ++occurrences_;
    position_ = position;
    return handleOccurrence(position, name, value);
}

template <class T>
struct OptionValue {
    virtual ~OptionValue() = default;
    void take(const T& given) {
        value = given;
        valid = true;
    }
    void give(T& to) const { to = value; }

private:
    T value{};
    bool valid = false;
};
// Of a class other than a string there is no default.
struct NoOptionValue {
    virtual ~NoOptionValue() = default;
    template <class T>
    void take(const T&) {}
    template <class T>
    void give(T&) const {}
};

template <class T>
class parser {
public:
    virtual ~parser() = default;
    bool parse(StringRef text, T& value) const;
};

template <>
bool parser<unsigned>::parse(StringRef text, unsigned& value) const {
    char* end = nullptr;
    value = static_cast<unsigned>(std::strtoul(text.str().c_str(), &end, 10));
    if (text.size != 0 && *end == 0) return false;
    errs().write("value invalid for uint argument!", 32);
    return true;
}

template <>
bool parser<bool>::parse(StringRef text, bool& value) const {
    value = text.size == 0 || text.str() == "true";
    return false;
}

template <>
bool parser<Text>::parse(StringRef text, Text& value) const {
    value = Text(text.data, text.size);
    return false;
}

template <class T, bool External>
struct opt_storage {
    T value_;
    T& variable() { return value_; }
};
template <class T>
struct opt_storage<T, true> {
    T& location_;
    T& variable() { return location_; }
};

template <class T, bool External = false, class Parser = parser<T>>
class opt : public Option, opt_storage<T, External> {
public:
    opt(const char* name, std::conditional_t<External, T&, T> given) : Option(name), opt_storage<T, External>{given} {
        default_.take(given);
    }
    operator const T&() const { return this->value_; }
    [[gnu::noinline]] void call(void (*function)(const T&)) { callback_ = function; }

private:
    OptionValue<T> default_;
    Parser parser_;
    Function<void(const T&)> callback_ = IDLE;

    bool handleOccurrence(unsigned, StringRef, StringRef text) override {
        T value{};
        if (parser_.parse(text, value)) return true;
        this->variable() = value;
        callback_(value);
        return false;
    }
    void setDefault() override { default_.give(this->variable()); }
};

template <class T, class Storage = bool, class Parser = parser<T>>
class list : public Option {
public:
    explicit list(const char* name) : Option(name) {}
    const std::vector<T>& values() const { return values_; }

private:
    std::vector<T> values_;
    std::vector<OptionValue<T>> defaults_;
    bool default_assigned_ = false;
    std::vector<unsigned> positions_;
    Parser parser_;
    Function<void(const T&)> callback_ = IDLE;

    bool handleOccurrence(unsigned position, StringRef, StringRef text) override {
        T value{};
        if (parser_.parse(text, value)) return true;
        values_.push_back(value);
        positions_.push_back(position);
        callback_(value);
        return false;
    }
    void setDefault() override {
        values_.clear();
        positions_.clear();
    }
};

}  // namespace cl

// Exported: code of the library reaches them past the global offset table.
extern cl::opt<unsigned> ExportedCount;
extern unsigned ExportedVariable;
cl::opt<unsigned> ExportedCount("exported-count", 1);
unsigned ExportedVariable = 2;
cl::opt<unsigned, true> ExportedLocation("exported-location", ExportedVariable);
cl::opt<Text> ExportedText("exported-text", "short");

}  // namespace llvm

using namespace llvm;

static void (*ErrorHandler)(void*, const char*, bool) THIN("_ZL12ErrorHandler") = nullptr;
static void* ErrorHandlerUserData = nullptr;

void llvm::report_fatal_error(const char* reason) {
    if (ErrorHandler != nullptr) ErrorHandler(ErrorHandlerUserData, reason, true);
    errs().write(reason, std::strlen(reason));
    std::exit(1);
}

void llvm::install_fatal_error_handler(void (*handler)(void*, const char*, bool), void* data) {
    ErrorHandler = handler;
    ErrorHandlerUserData = data;
}

static cl::opt<unsigned> OwnCount("own-count", 3);
static cl::opt<Text> OwnText("own-text", "a default of more than fifteen characters");
static cl::list<Text> OwnTexts("own-texts");
static cl::opt<unsigned> First("first-of-table", 4), Second("second-of-table", 5);
static cl::opt<unsigned> WithCallback("with-callback", 6);
// An option that is a part of another object, and a variable that no other library can name.
static struct {
    cl::opt<unsigned> option{"part-of-pair", 7};
    unsigned other = 8;
} Pair;
static unsigned OwnVariable = 9;
// As LLVM makes MC's options: in a function that runs at load and later.
[[gnu::noinline]] static const cl::opt<unsigned>& made() {
    static const cl::opt<unsigned> option("made-in-function", 10);
    return option;
}
[[maybe_unused]] static const bool makes = (made(), true);
static cl::opt<unsigned, true> OwnLocation("own-location", OwnVariable);
static unsigned called;
static void call_back(const unsigned& value) { called = value; }
[[maybe_unused]] static const bool calls_back = (WithCallback.call(call_back), true);
extern cl::opt<unsigned>* const OptionTable[2];
cl::opt<unsigned>* const OptionTable[2] = {&First, &Second};

static std::string str(const Text& text) { return std::string(text.data(), text.size()); }

// What the code sees, as a text of at most `room` bytes.
extern "C" void values_seen(unsigned of_table, char* text, std::size_t room) {
    std::string seen = std::to_string(ExportedCount) + " " + std::to_string(ExportedVariable) + " " +
                       std::to_string(OwnCount) + " " + std::to_string(*OptionTable[of_table]) + " " +
                       std::to_string(WithCallback + called) + " " + str(ExportedText) + " " + str(OwnText);
    if (of_table > 1) seen += std::to_string(Pair.option + Pair.other + OwnVariable + made());
    for (const Text& each : OwnTexts.values()) seen += " " + str(each);
    std::snprintf(text, room, "%s", seen.c_str());
}

// As LLVM sets an exported option, and one of a table.
extern "C" void set_numbers(unsigned count, unsigned first) {
    const_cast<unsigned&>(static_cast<const unsigned&>(ExportedCount)) = count;
    const_cast<unsigned&>(static_cast<const unsigned&>(*OptionTable[0])) = first;
}

// As LLVM writes to an option of its own, by its address.
extern "C" void assign_text(const char* text) {
    const_cast<Text&>(static_cast<const Text&>(OwnText)).assign(text, std::strlen(text));
}

extern "C" void move_text(const char* text) { const_cast<Text&>(static_cast<const Text&>(OwnText)) = Text(text); }

#ifdef LIBCXX
namespace llvm::cl {
// As clang reads an option: into registers of every kind, as an operand beside a constant, and by its address.
static opt<unsigned> Read("read-by-every-instruction", 40);
template <>
bool opt<std::__1::shared_text, true, parser<Text>>::handleOccurrence(unsigned, StringRef, StringRef text) {
    location_ = Text(text.data, text.size);
    return false;
}
static std::__1::shared_text Pattern;
static opt<std::__1::shared_text, true, parser<Text>> Remarks("remarks", Pattern);
}  // namespace llvm::cl

static const unsigned& read() { return cl::Read; }

// As clang makes a constructor for one static option of a function, which runs once.
[[gnu::used]] static void construct() asm("_ZN4llvm2cl3optIjLb0ENS0_6parserIjEEEC2IJA5_cNS0_4descEEEEDpRKT_");
static void construct() { asm volatile("movq $0, %0" : "=m"(*reinterpret_cast<void**>(&cl::Read))); }

// A part that clang has put elsewhere, because it is seldom executed.
[[gnu::noinline]] static unsigned cold_part() asm("instructions_seen.cold.1");
static unsigned cold_part() {
    unsigned found = 2;
    asm volatile("imull $100000, %1, %0" : "=r"(found) : "m"(read()));
    return found;
}

extern "C" void instructions_seen(unsigned* seen) {
    asm volatile("xorl %0, %0; cmpb $40, %1; sete %b0" : "=&q"(seen[0]) : "m"(read()) : "cc");
    asm volatile("xorl %0, %0; testb $8, %1; setne %b0" : "=&q"(seen[1]) : "m"(read()) : "cc");
    asm volatile("xorl %0, %0; cmpl $100000, %1; setb %b0" : "=&q"(seen[2]) : "m"(read()) : "cc");
    asm volatile("movzbl %1, %0" : "=r"(seen[3]) : "m"(read()));
    asm volatile("movd %1, %%xmm1; movd %%xmm1, %0" : "=r"(seen[4]) : "m"(read()) : "xmm1");
    asm volatile("cvtsi2sdl %1, %%xmm1; cvtsd2si %%xmm1, %0" : "=r"(seen[5]) : "m"(read()) : "xmm1");
    asm volatile("movl $0, %0; cmpl %0, %0; cmovel %1, %0" : "=&r"(seen[6]) : "m"(read()) : "cc");
    asm volatile("movl $1, %0; subl %1, %0" : "=&r"(seen[7]) : "m"(read()) : "cc");
    asm volatile("leaq %1, %%rcx; movl (%%rcx), %0" : "=r"(seen[8]) : "m"(read()) : "rcx");
    asm volatile("movaps %1, %%xmm1; movd %%xmm1, %0" : "=r"(seen[9]) : "m"(read()) : "xmm1");
    seen[10] = cold_part();
}

extern "C" const char* pattern_seen() {
    const Text* text = cl::Pattern.get();
    return text == nullptr ? "" : text->data();
}

extern "C" long patterns_alive() { return std::__1::shared_count::live; }
#else
namespace {
struct PassRemarksOpt {
    std::shared_ptr<Text> pattern;
};
}  // namespace
template <>
struct cl::OptionValue<PassRemarksOpt> : cl::NoOptionValue {};
template <>
bool cl::opt<PassRemarksOpt, true, cl::parser<Text>>::handleOccurrence(unsigned, StringRef, StringRef text) {
    location_.pattern = std::make_shared<Text>(text.data, text.size);
    return false;
}
static PassRemarksOpt Pattern, Missed;
static cl::opt<PassRemarksOpt, true, cl::parser<Text>> Remarks("remarks", Pattern), OfMissed("remarks-missed", Missed);

extern "C" const char* pattern_seen() { return Pattern.pattern ? Pattern.pattern->data() : ""; }

#include "small_debug.hpp"
#endif
