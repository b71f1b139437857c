// Python bindings: names and conversions, no logic.
#include "bindings.hpp"
#include "arch/branches.hpp"
#include "arch/lengths.hpp"
#include "arch/readers.hpp"
#include "arch/references.hpp"
#include "arch/trampolines.hpp"
#include "blocks/block.hpp"
#include "gil.hpp"
#include "image/elf.hpp"
#include "image/memory.hpp"
#include "image/option_layout.hpp"
#include "image/pointers.hpp"
#include "image/registry_walk.hpp"
#include "image/words.hpp"
#include "native_calls.hpp"
#include "patch/patch.hpp"
#include "view/context.hpp"
#include "view/gate.hpp"
#include "view/values.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/unordered_map.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

namespace nb = nanobind;
using namespace nb::literals;
using namespace optctx;

namespace {

std::vector<std::uint8_t> from_bytes(const nb::bytes& bytes) {
    const auto* data = static_cast<const std::uint8_t*>(bytes.data());
    return {data, data + bytes.size()};
}

std::span<const std::uint8_t> bytes_of(const nb::bytes& bytes) {
    return {static_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

template <class Bytes>
nb::bytes to_bytes(const Bytes& bytes) {
    return nb::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size() * sizeof bytes[0]);
}

struct Trampolines {
    std::vector<arch::Trampoline> all;
};

// A copy, because bytes need not be aligned.
template <class T>
std::vector<T> unpacked(const nb::bytes& bytes) {
    if (bytes.size() % sizeof(T) != 0) throw image::Misfit("expected whole elements, found some that are cut off");
    std::vector<T> elements(bytes.size() / sizeof(T));
    if (!elements.empty()) std::memcpy(elements.data(), bytes.data(), bytes.size());
    return elements;
}

void bind_image(nb::module_& m) {
    nb::exception<image::Misfit>(m, "MisfitError", PyExc_RuntimeError);
    // The name belongs to the image, which lives as long as the process once it is in use.
    nb::class_<image::Symbol>(m, "Symbol",
                              "A function or object of an image: absolute address, size in bytes, mangled name.")
        .def_ro("address", &image::Symbol::address)
        .def_ro("size", &image::Symbol::size)
        .def_ro("number", &image::Symbol::number)
        .def_prop_ro("name", [](const image::Symbol& s) { return std::string(s.name); });
    nb::class_<image::Image>(m, "Image", "A shared library of this process, with the symbols of its file.")
        .def(nb::init<std::string, std::uintptr_t>(), "path"_a, "base"_a)
        .def_prop_ro("path", &image::Image::path)
        .def_prop_ro("base", &image::Image::base)
        .def_prop_ro("build_id", &image::Image::build_id)
        .def_prop_ro("text_begin", &image::Image::text_begin)
        .def_prop_ro("text_end", &image::Image::text_end)
        .def_prop_ro("symbol_count", &image::Image::symbol_count)
        .def("symbol", &image::Image::symbol, "name"_a, "Absolute address of a mangled name, or None.")
        .def("function_at", &image::Image::function_at, "address"_a,
             "The function whose code holds the address, or None.")
        .def("object_at", &image::Image::object_at, "address"_a, "The object whose storage holds the address, or None.")
        .def("named", &image::Image::named, "name"_a, "The function or object with this mangled name, or None.")
        .def("numbered", &image::Image::numbered, "number"_a,
             "The function or object in that place of the symbol table, or None.")
        .def(
            "files", [](const image::Image& i) { return i.symbols().files(); },
            "[(number, name)] of each source file in the symbol table. The local symbols of a file follow it.")
        .def_prop_ro(
            "end_of_files", [](const image::Image& i) { return i.symbols().end_of_files(); },
            "Symbols with smaller numbers are local to the file before them.")
        .def(
            "local_neighbours",
            [](const image::Image& i, std::uintptr_t address, bool functions) {
                const auto found = i.symbols().local_neighbours(address, functions);
                return std::pair(found.before, found.after);
            },
            "address"_a, "functions"_a,
            "The nearest functions, or objects, local to a file that begin before the address and after it.")
        .def("functions_named", &image::Image::functions_named, "patterns"_a,
             "For each (prefix, infix), the functions whose mangled name starts with the one and holds the other after "
             "that; the image must outlive the answer.")
        .def(
            "initial_bytes",
            [](const image::Image& i, std::uintptr_t a, std::size_t n) {
                const auto b = i.initial_bytes(a, n);
                return nb::bytes(reinterpret_cast<const char*>(b.data()), b.size());
            },
            "address"_a, "size"_a, "What the file says is there before anything has run; zeros in .bss.")
        .def("contains", &image::Image::contains, "address"_a)
        .def_prop_ro(
            "identity",
            [](const image::Image& i) {
                const auto& id = i.identity();
                return nb::make_tuple(id.device, id.inode, id.size, id.modified, id.changed);
            },
            nb::sig("def identity(self) -> tuple[int, int, int, int, int]"),
            "The library's file: device, inode, bytes, times of the last change of its content and of its status, in "
            "nanoseconds.")
        .def("forget_symbols", &image::Image::forget_symbols,
             "Frees the index of symbols; what is asked for later is worked out again.")
        .def("release_pages", &image::Image::release_pages,
             "Takes the file's pages out of resident memory; what is asked for later is read again.");
    m.def(
        "loaded_libraries",
        [] {
            std::vector<std::pair<std::string, std::uintptr_t>> found;
            for (auto& library : image::loaded_libraries()) found.emplace_back(std::move(library.path), library.base);
            return found;
        },
        "(path, base) of every shared library in this process.");
    nb::class_<image::Span>(m, "Span").def(nb::init<std::uintptr_t, std::size_t>(), "begin"_a, "size"_a);
    nb::class_<arch::FunctionReferences>(m, "FunctionReferences", "Candidate references of one function.")
        .def_ro("function", &arch::FunctionReferences::function)
        .def_ro("places", &arch::FunctionReferences::places);
    m.def("find_references", &arch::find_references, "image"_a, "spans"_a, nb::call_guard<WithoutGil>(),
          "Candidate references into the spans, by function; the image must outlive the answer.");
    m.def("find_references_to_each", &arch::find_references_to_each, "image"_a, "spans"_a, nb::call_guard<WithoutGil>(),
          "The same for several lists of spans.");
    m.def("find_references_in", &arch::find_references_in, "image"_a, "spans"_a, "functions"_a,
          nb::call_guard<WithoutGil>(), "The same in the functions of these numbers.");
    m.def(
        "locate",
        [](const image::Image& i, const arch::FunctionReferences& references) {
            std::optional<std::vector<std::tuple<std::uintptr_t, unsigned, unsigned>>> found;
            if (const auto located = arch::locate(i, references)) {
                found.emplace();
                for (const auto& each : *located) found->emplace_back(each.address, each.length, each.operand_at);
            }
            return found;
        },
        "image"_a, "references"_a,
        "(address, length, index of the byte that names the operand) of each instruction at the places, or None if the "
        "function has an unusual one on the way.");
    m.def(
        "instruction_length",
        [](const nb::bytes& code) {
            std::optional<std::pair<unsigned, unsigned>> found;
            if (const auto length = arch::instruction_length(bytes_of(code)))
                found.emplace(length->length, length->operand_at);
            return found;
        },
        "code"_a,
        "(length, index of the byte that names a relative operand or 0), or None for an unusual instruction.");
    m.def("find_branches", &arch::find_branches, "image"_a, "targets"_a, nb::call_guard<WithoutGil>(),
          "(address, target) of candidates for direct calls and jumps to the targets.");
    m.def(
        "rewrite",
        [](const nb::bytes& instruction, std::size_t operand_at, unsigned scratch, std::int32_t offset) {
            return to_bytes(arch::rewrite(bytes_of(instruction), operand_at, scratch, offset));
        },
        "instruction"_a, "operand_at"_a, "scratch"_a, "offset"_a,
        "The instruction with its operand `offset` bytes past the register `scratch`.");
    m.def(
        "check_sites",
        [](const image::Image& i, const nb::bytes& sites) { arch::check(i, unpacked<arch::PackedSite>(sites)); },
        "image"_a, "sites"_a,
        "MisfitError if the library's file does not have the instructions that the packed sites say, but for where "
        "they "
        "begin.");
    nb::class_<Trampolines>(m, "Trampolines", "What runs instead of thousands of instructions.")
        .def("__len__", [](const Trampolines& t) { return t.all.size(); })
        .def(
            "__iter__",
            [](const Trampolines& t) {
                nb::list made;
                for (const auto& each : t.all)
                    made.append(nb::make_tuple(each.site, to_bytes(each.before), to_bytes(each.code)));
                return nb::iter(made);
            },
            nb::sig("def __iter__(self) -> collections.abc.Iterator[tuple[int, bytes, bytes]]"),
            "(address, bytes of the instruction, what runs instead) of each.");
    m.def(
        "trampolines",
        [](const image::Image& i, const nb::bytes& sites, const nb::bytes& words, const nb::bytes& loads,
           std::int32_t thread_offset) {
            return Trampolines{arch::trampolines(i, unpacked<arch::PackedSite>(sites), unpacked<std::uint32_t>(words),
                                                 bytes_of(loads), thread_offset)};
        },
        "image"_a, "sites"_a, "words"_a, "loads"_a, "thread_offset"_a,
        "What runs instead of each packed site; MisfitError if the library's file does not have such instructions.");
    m.def(
        "group_readers",
        [](const nb::bytes& sites, const std::unordered_map<std::uint64_t, std::uint32_t>& slots) {
            const auto found = arch::group_readers(unpacked<arch::PackedSite>(sites), slots);
            return nb::make_tuple(to_bytes(found.readers), to_bytes(found.of_site));
        },
        nb::sig("def group_readers(sites: bytes, slots: dict[int, int]) -> tuple[bytes, bytes]"), "sites"_a, "slots"_a,
        "(packed readers, index of the reader of each packed site). `slots`: by region, from the image's base.");
    m.def(
        "site_words",
        [](const nb::bytes& sites, const std::unordered_map<std::uint64_t, std::uint32_t>& slots,
           const nb::bytes& readers, std::uint32_t first) {
            const auto found =
                arch::words_of(unpacked<arch::PackedSite>(sites), slots, unpacked<std::uint32_t>(readers), first);
            return nb::make_tuple(to_bytes(found.words), to_bytes(found.loads));
        },
        nb::sig("def site_words(sites: bytes, slots: dict[int, int], readers: bytes, first: int) -> "
                "tuple[bytes, bytes]"),
        "sites"_a, "slots"_a, "readers"_a, "first"_a,
        "For each packed site (the word of the view that it goes through, whether that leads to an address that it "
        "takes). `readers`: what `group_readers` gave; `first`: the word of the first one.");
    nb::class_<arch::Uses>(m, "Uses", "What the sites of one region do with it.")
        .def_ro("writes", &arch::Uses::writes)
        .def_ro("writes_head", &arch::Uses::writes_head, "At the first byte: a constructor does.")
        .def_ro("takes_address", &arch::Uses::takes_address)
        .def_prop_ro(
            "functions", [](const arch::Uses& u) { return nb::tuple(nb::cast(u.functions)); },
            nb::sig("def functions(self) -> tuple[int, ...]"), "Numbers of symbols, in the order of the code.");
    m.def(
        "group_uses",
        [](const nb::bytes& sites, std::uintptr_t base) {
            nb::dict uses;
            for (auto& [region, found] : arch::group_uses(unpacked<arch::PackedSite>(sites)))
                uses[nb::int_(region + base)] = nb::cast(std::move(found));
            return uses;
        },
        nb::sig("def group_uses(sites: bytes, base: int) -> dict[int, Uses]"), "sites"_a, "base"_a,
        "By the address of a region, what the packed sites of an image at `base` do with it.");
    m.def("find_data_pointers", &image::find_data_pointers, "image"_a, "spans"_a);
    nb::class_<image::RawOption>(m, "RawOption", "The common part of a cl::Option object, read in place.")
        .def_prop_ro("vtable", [](const image::RawOption& o) { return reinterpret_cast<std::uintptr_t>(o.vtable); })
        .def_ro("occurrences", &image::RawOption::occurrences)
        .def_ro("position", &image::RawOption::position)
        .def_prop_ro("help", [](const image::RawOption& o) { return std::string(o.help.data, o.help.size); })
        .def_prop_ro("value_name",
                     [](const image::RawOption& o) { return std::string(o.value_name.data, o.value_name.size); })
        .def_prop_ro("hidden", &image::RawOption::hidden)
        .def_prop_ro("misc", &image::RawOption::misc)
        .def_prop_ro("value_expected", &image::RawOption::value_expected)
        .def_prop_ro("categories", &native_calls::categories);
    m.def(
        "option_at", [](std::uintptr_t address) { return reinterpret_cast<const image::RawOption*>(address); },
        "address"_a, nb::rv_policy::reference);
    m.def(
        "walk_registry",
        [](std::uintptr_t map) {
            auto registry = image::walk_registry(map);
            std::vector<std::pair<std::string, std::uintptr_t>> options;
            for (auto& option : registry.options) options.emplace_back(std::move(option.key), option.address);
            std::sort(options.begin(), options.end());
            return std::pair(std::move(registry.layout), std::move(options));
        },
        "map"_a, "(layout, [(name, address of the Option)] by name) after checking every entry.");
    m.def(
        "read_checked",
        [](std::uintptr_t address, std::size_t size, const char* what) {
            const auto bytes = image::load_bytes(address, size, what);
            return nb::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        },
        "address"_a, "size"_a, "what"_a,
        "Bytes of memory whose layout is in doubt, `what` they are taken for; MisfitError if they cannot be read.");
    m.def(
        "words_match",
        [](const image::Image& i, const std::vector<std::uintptr_t>& objects, const nb::bytes& checks) {
            return image::words_match(i, objects, unpacked<image::WordCheck>(checks));
        },
        "image"_a, "objects"_a, "checks"_a, "Whether every packed check of words of the objects (addresses) holds.");
    m.def("trim_heap", &os::trim_heap, "Give the heap's free pages back to the system.");
    m.def("read_words", &native_calls::read_words, "address"_a, "count"_a);
    m.def(
        "read_bytes",
        [](std::uintptr_t address, std::size_t count) {
            const view::LiveView live;
            return nb::bytes(reinterpret_cast<const char*>(address), count);
        },
        "address"_a, "count"_a);
    m.def("demangle", &native_calls::demangle, "name"_a);
    m.def("call_pointer", &native_calls::call_pointer, "function"_a, "argument"_a = 0);
    m.def("call_virtual_uint", &native_calls::call_virtual_uint, "object"_a, "index"_a);
    m.def("call_virtual_pointer", &native_calls::call_virtual_pointer, "object"_a, "index"_a, "argument"_a);
    m.def("call_virtual_text", &native_calls::call_virtual_text, "object"_a, "index"_a, "argument"_a);
}

void bind_patch(nb::module_& m) {
    nb::class_<patch::Transaction>(m, "Transaction", "Redirected instructions of one image: prepare, commit, undo.")
        .def(
            "__init__",
            [](patch::Transaction* self, const nb::iterable& sites, std::uintptr_t begin, std::uintptr_t end,
               const Trampolines* trampolines) {
                std::vector<patch::Site> converted;
                if (trampolines != nullptr)
                    for (const auto& each : trampolines->all) converted.push_back({each.site, each.before, each.code});
                for (const nb::handle site : sites) {
                    const auto [address, before, code] =
                        nb::cast<std::tuple<std::uintptr_t, nb::bytes, nb::bytes>>(site);
                    converted.push_back({address, from_bytes(before), from_bytes(code)});
                }
                new (self) patch::Transaction(std::move(converted), begin, end);
            },
            nb::sig("def __init__(self, sites: collections.abc.Iterable[tuple[int, bytes, bytes]], text_begin: int, "
                    "text_end: int, trampolines: Trampolines | None = None) -> None"),
            "sites"_a, "text_begin"_a, "text_end"_a, "trampolines"_a = nb::none(),
            "`sites`: (address, bytes of the instruction, what runs instead) of each site; beside them the "
            "`trampolines`.")
        .def("commit", &patch::Transaction::commit, "fail_at"_a = 0)
        .def("undo", &patch::Transaction::undo, "fail_at"_a = 0)
        .def_prop_ro("committed", &patch::Transaction::committed)
        .def_prop_ro("trampoline_bytes", &patch::Transaction::trampoline_bytes)
        .def_prop_ro("pages", &patch::Transaction::pages)
        .def("trampoline_of", &patch::Transaction::trampoline_of, "site"_a)
        .def("__len__", &patch::Transaction::size);
}

void bind_view(nb::module_& m) {
    nb::enum_<view::Kind>(m, "Kind")
        .value("boolean", view::Kind::boolean)
        .value("bool_or_default", view::Kind::bool_or_default)
        .value("int32", view::Kind::int32)
        .value("uint32", view::Kind::uint32)
        .value("int64", view::Kind::int64)
        .value("uint64", view::Kind::uint64)
        .value("float32", view::Kind::float32)
        .value("float64", view::Kind::float64)
        .value("character", view::Kind::character)
        .value("string", view::Kind::string)
        .value("enumeration", view::Kind::enumeration)
        .value("list", view::Kind::list)
        .value("bits", view::Kind::bits)
        .value("other", view::Kind::other)
        .value("set", view::Kind::set);
    nb::enum_<view::Role>(m, "Role")
        .value("option", view::Role::option)
        .value("variable", view::Role::variable)
        .value("state", view::Role::state)
        .value("runtime", view::Role::runtime)
        .value("decision", view::Role::decision);
    nb::enum_<view::Ownership>(m, "Ownership")
        .value("none", view::Ownership::none)
        .value("string", view::Ownership::string)
        .value("list", view::Ownership::list)
        .value("list_of_strings", view::Ownership::list_of_strings)
        .value("shared_pointer", view::Ownership::shared_pointer)
        .value("set", view::Ownership::set);
    nb::class_<view::Region>(m, "Region", "A piece of LLVM's static storage that is redirected as a whole.")
        .def(
            "__init__",
            [](view::Region* self, std::uintptr_t live, std::size_t size, view::Role role, view::Kind kind,
               view::Ownership ownership, bool scoped, bool written, bool escapes) {
                new (self) view::Region{.live = live,
                                        .size = size,
                                        .role = role,
                                        .kind = kind,
                                        .ownership = ownership,
                                        .scoped = scoped,
                                        .written = written,
                                        .escapes = escapes};
            },
            "live"_a, "size"_a, "role"_a, "kind"_a = view::Kind::other, "ownership"_a = view::Ownership::none,
            "scoped"_a = false, "written"_a = false, "escapes"_a = false)
        .def_rw("live", &view::Region::live)
        .def_rw("size", &view::Region::size)
        .def_rw("role", &view::Region::role)
        .def_rw("kind", &view::Region::kind)
        .def_rw("ownership", &view::Region::ownership)
        .def_rw("variable", &view::Region::variable)
        .def_rw("value_offset", &view::Region::value_offset)
        .def_rw("has_defaults", &view::Region::has_defaults)
        .def_rw("scoped", &view::Region::scoped)
        .def_rw("written", &view::Region::written)
        .def_rw("escapes", &view::Region::escapes)
        .def_rw("shared", &view::Region::shared)
        .def_rw("has_default", &view::Region::has_default)
        .def(
            "set_initial",
            [](view::Region& r, std::size_t at, const nb::bytes& bytes) {
                r.initial_at = at;
                r.initial = from_bytes(bytes);
            },
            "at"_a, "initial"_a, "Set the bytes with which a context starts, from byte `at` on.")
        .def(
            "add_pointer",
            [](view::Region& r, std::size_t at, std::uint32_t slot, std::size_t offset) {
                r.pointers.push_back({at, slot, offset});
            },
            "at"_a, "slot"_a, "offset"_a,
            "Make the word at byte `at` a pointer to byte `offset` of the region of `slot`.");
    nb::exception<os::OsError>(m, "OsError", PyExc_RuntimeError);
    m.attr("NO_SLOT") = view::no_slot;
    m.attr("OCCURRENCES_AT") = offsetof(image::RawOption, occurrences);
    m.attr("POSITION_AT") = offsetof(image::RawOption, position);
    m.attr("MAX_IMAGES") = view::max_images;
    m.def("thread_offset", [](unsigned image) { return view::thread_offset(view::checked_image(image)); }, "image"_a);
    m.def(
        "identity_view",
        [](unsigned image) {
            return reinterpret_cast<std::uintptr_t>(view::identity_view(view::checked_image(image)));
        },
        "image"_a, "Return the address of the words through which LLVM reads outside every scope.");
    // Python code catches these and raises classes of its own with the same text.
    nb::exception<view::ParseError>(m, "ParseError", PyExc_ValueError);
    nb::exception<view::ScopeError>(m, "NativeScopeError", PyExc_RuntimeError);
    nb::class_<view::Patch>(m, "Patch", "The storage of one region in a setting.")
        .def_ro("slot", &view::Patch::slot)
        .def_prop_ro("address",
                     [](const view::Patch& p) { return reinterpret_cast<std::uintptr_t>(p.block->address()); });
    nb::class_<native_calls::SharedSetting>(m, "Setting", "The storage that gives options their values.")
        .def("__len__", [](const native_calls::SharedSetting& s) { return s.patches->size(); })
        .def_prop_ro("patches", [](const native_calls::SharedSetting& s) { return *s.patches; })
        .def("is_same", [](const native_calls::SharedSetting& a, const native_calls::SharedSetting& b) {
            return a.patches == b.patches;
        });
    nb::class_<view::Space>(m, "Space", "The regions of one image and their registered values.")
        .def_static(
            "redirected",
            [](unsigned image, std::vector<view::Region> regions, std::vector<std::uint32_t> set_default,
               std::uintptr_t add_occurrence, const native_calls::Reporting& reporting, const nb::bytes& readers) {
                std::vector<view::Reader> converted;
                for (const auto& each : unpacked<arch::PackedReader>(readers)) {
                    if (each.offset < 0) throw image::Misfit("expected an address in a region, found one before it");
                    converted.push_back({each.slot, static_cast<std::size_t>(each.offset),
                                         (each.uses & arch::takes_address_bit) != 0,
                                         (each.uses & arch::reads_bit) != 0});
                }
                return native_calls::redirected_space(image, std::move(regions), std::move(set_default), add_occurrence,
                                                      reporting, std::move(converted));
            },
            "image"_a, "regions"_a, "set_default"_a, "add_occurrence"_a, "reporting"_a, "readers"_a,
            nb::rv_policy::reference,
            "Make a space for an image whose reads go through views. It is never freed: threads inside contexts and "
            "LLVM itself may hold addresses. `reporting`: slots of the objects through which LLVM reports. `readers`: "
            "packed.")
        .def_static(
            "in_place", &native_calls::in_place_space, "image"_a, "regions"_a, "set_default"_a, "add_occurrence"_a,
            "reporting"_a, "vtable_size"_a, "write_index"_a, nb::rv_policy::reference,
            "Make a space for an image that is not patched. `reporting`: addresses of the objects through which LLVM "
            "reports; `vtable_size`: bytes of the stream's vtable; `write_index`: index of write_impl in it.")
        .def(
            "default_address",
            [](const view::Space& s, std::uint32_t slot) {
                return reinterpret_cast<std::uintptr_t>(s.defaults()[slot]);
            },
            "slot"_a)
        .def_prop_ro("copied_bytes", &view::Space::copied_bytes)
        .def(
            "scope_debugging",
            [](view::Space& s, std::uintptr_t flag, std::uintptr_t location, std::uintptr_t types,
               std::size_t type_size, std::uintptr_t debug_only, std::uint32_t flag_slot, std::uint32_t types_slot) {
                s.scope_debugging({flag, location, types, type_size, debug_only, flag_slot, types_slot});
            },
            "flag"_a, "location"_a, "types"_a, "type_size"_a, "debug_only"_a, "flag_slot"_a, "types_slot"_a,
            "Give debug output only to threads inside a context with `debug`. Takes addresses, bytes and slots. Call "
            "before anything is redirected.")
        .def(
            "parse",
            [](view::Space& s, std::uint32_t slot, const std::string& name,
               const std::vector<std::optional<std::string>>& values) {
                return native_calls::SharedSetting{
                    std::make_shared<const view::Setting>(s.parse(slot, {0, view::occurrences(name, values)}))};
            },
            "slot"_a, "name"_a, "values"_a)
        .def("no_drift",
             [](view::Space&) { return native_calls::SharedSetting{std::make_shared<const view::Setting>()}; })
        .def("drift", [](view::Space& s) { return native_calls::SharedSetting{s.drift()}; });
    nb::class_<view::Reads>(m, "Reads", "Which readers have read.")
        .def_static(
            "make", [](const view::Space& s) { return std::make_shared<view::Reads>(s.layout()->readers().size()); },
            "space"_a)
        .def_static(
            "inherit",
            [](const view::Space& s, std::shared_ptr<view::Reads> from, const std::vector<std::uint32_t>& hidden) {
                const auto& readers = s.layout()->readers();
                std::vector<bool> hides;
                for (const view::Reader& reader : readers)
                    hides.push_back(std::find(hidden.begin(), hidden.end(), reader.slot) != hidden.end());
                return std::make_shared<view::Reads>(std::move(from), std::move(hides));
            },
            "space"_a, "outer"_a, "hidden"_a,
            "Make marks that also mark in `outer`, except readers of the slots in `hidden`.");
    nb::enum_<view::Sets>(m, "Sets", "What becomes of values that code inside a context gives to LLVM's setters.")
        .value("contain", view::Sets::contain)
        .value("process", view::Sets::process)
        .value("error", view::Sets::error);
    nb::class_<view::Context>(m, "Context", "A full set of option values.")
        .def_static(
            "make",
            [](view::Space& space, const native_calls::SharedSetting& base,
               const std::vector<native_calls::SharedSetting>& overrides,
               std::shared_ptr<view::ProcessWide> process_wide, std::shared_ptr<view::Reads> reads, view::Sets sets) {
                return std::make_shared<view::Context>(space, base.patches, native_calls::merge(overrides),
                                                       std::move(process_wide), std::move(reads), sets);
            },
            "space"_a, "base"_a, "overrides"_a, "process_wide"_a.none() = nb::none(), "reads"_a.none() = nb::none(),
            "sets"_a = view::Sets::contain,
            "Make a context: the registered values, then `base`, then `overrides`. While a thread is inside, "
            "`process_wide` affects every thread.")
        .def_prop_ro("changed", &view::Context::changed, "Slots whose regions differ from what was registered.")
        .def_prop_ro(
            "overridden",
            [](const view::Context& c) {
                std::vector<std::uint32_t> slots;
                for (const view::Patch& patch : c.overrides()) slots.push_back(patch.slot);
                return slots;
            },
            "Slots of the overrides.")
        .def(
            "text",
            [](const view::Context& c, std::uint32_t slot) {
                const std::string text = c.text(slot);
                return nb::bytes(text.data(), text.size());
            },
            "slot"_a,
            "Return the text that LLVM parsed into the value, equal for equal occurrences; empty if it is not known.")
        .def_prop_ro(
            "process_wide_text",
            [](const view::Context& c) {
                return c.process_wide() == nullptr ? std::string() : c.process_wide()->text();
            },
            "Equal for equal process-wide changes of an image, and only for those; empty without any.")
        .def_prop_ro("reads", &view::Context::reads, "The marks of readers, or None.")
        .def("take_reads", &view::Context::take_reads,
             "Return the indexes of the readers that read since the last call, or None if a thread is inside.")
        .def(
            "address",
            [](const view::Context& c, std::uint32_t slot) {
                return reinterpret_cast<std::uintptr_t>(c.address(slot));
            },
            "slot"_a);
    nb::exception<view::gate::GateError>(m, "GateError", PyExc_RuntimeError);
    nb::class_<view::Change>(m, "Change", "The change of one option in LLVM's own object, and how to undo it.")
        .def(
            "__init__",
            [](view::Change* self, std::uintptr_t option, std::string name,
               std::vector<std::optional<std::string>> texts, view::Kind kind, std::size_t value_offset,
               bool has_defaults, std::pair<std::uintptr_t, std::size_t> variable,
               std::pair<std::uintptr_t, std::size_t> state, std::pair<std::uintptr_t, std::size_t> debug_types) {
                new (self) view::Change{option,       std::move(name), std::move(texts),  kind,
                                        value_offset, has_defaults,    variable.first,    variable.second,
                                        state.first,  state.second,    debug_types.first, debug_types.second};
            },
            "option"_a, "name"_a, "texts"_a, "kind"_a, "value_offset"_a, "has_defaults"_a, "variable"_a, "state"_a,
            "debug_types"_a,
            "`variable` and `state` are (address, size in bytes), or (0, 0) if there is none. `debug_types`: the same "
            "for llvm::CurrentDebugType, with the size of one type.");
    nb::class_<view::ProcessWide>(m, "ProcessWide", "A set of changes to LLVM's own options.")
        .def_static(
            "make",
            [](view::Space& space, std::vector<view::Change> changes, std::string text,
               std::uintptr_t set_debug_types) {
                return std::make_shared<view::ProcessWide>(space, std::move(changes), std::move(text), set_debug_types);
            },
            "space"_a, "changes"_a, "text"_a, "set_debug_types"_a);
    m.def("read_scalar", &view::read_scalar, "kind"_a, "address"_a);
    m.def("read_list", &view::read_list, "element"_a, "element_size"_a, "address"_a);
    m.def("read_set", &view::read_set, "address"_a);
}

}  // namespace

NB_MODULE(_native, m) {
    m.doc() = "Native part of optctx: image, patching, views. Not a public interface.";
    nb::set_leak_warnings(false);
    blocks::prepare();
    bind_image(m);
    bind_patch(m);
    bind_view(m);
    add_scopes(m);
    add_audit(m);
    add_bind(m);
    add_machines(m);
    add_contain(m);
    add_attach(m);
    add_compile(m);
    add_interface(m);
    add_record(m);
    add_drift(m);
}
