// Finding instructions, what runs instead of them, and redirecting them: names and conversions, no logic.
#include "arch/lengths.hpp"
#include "arch/scan.hpp"
#include "arch/sites.hpp"
#include "arch/trampolines.hpp"
#include "patch/code.hpp"
#include "python/bindings.hpp"
#include "python/bytes.hpp"
#include "python/gil.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unordered_map.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace nb = nanobind;
using namespace nb::literals;
using namespace optctx;

namespace {

struct Trampolines {
    std::vector<arch::Trampoline> all;
};

}  // namespace

void add_sites(nb::module_& m) {
    nb::class_<arch::FunctionReferences>(m, "FunctionReferences", "Candidate references of one function.")
        .def_ro("function", &arch::FunctionReferences::function)
        .def_ro("places", &arch::FunctionReferences::places);
    m.def("find_references_to_each", &arch::find_references_to_each, "image"_a, "spans"_a, nb::call_guard<WithoutGil>(),
          "Return, for each of several lists of spans, the candidate references into it, by function. The image must "
          "outlive the result.");
    m.def("find_references_in", &arch::find_references_in, "image"_a, "spans"_a, "functions"_a,
          nb::call_guard<WithoutGil>(), "Do the same for one list, in the functions of these numbers.");
    m.def(
        "locate",
        [](const image::Library& i, const arch::FunctionReferences& references) {
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
        [](const image::Library& i, const nb::bytes& sites) { arch::check(i, unpacked<arch::PackedSite>(sites)); },
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
        [](const image::Library& i, const nb::bytes& sites, const nb::bytes& words, const nb::bytes& loads,
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
        .def("commit", &patch::Transaction::commit)
        .def("undo", &patch::Transaction::undo)
        .def_prop_ro("committed", &patch::Transaction::committed)
        .def_prop_ro("trampoline_bytes", &patch::Transaction::trampoline_bytes)
        .def_prop_ro("pages", &patch::Transaction::pages)
        .def("trampoline_of", &patch::Transaction::trampoline_of, "site"_a)
        .def("__len__", &patch::Transaction::size);
}
