// Finding instructions, what runs instead of them, and redirecting them: names and conversions, no logic.
#include "arch/lengths.hpp"
#include "arch/scan.hpp"
#include "arch/sites.hpp"
#include "arch/tracing.hpp"
#include "arch/trampolines.hpp"
#include "patch/code.hpp"
#include "python/bindings.hpp"
#include "python/bytes.hpp"
#include "python/gil.hpp"
#include "views/poison.hpp"

#include <nanobind/stl/unordered_map.h>
#include <nanobind/stl/unordered_set.h>

#include <algorithm>
#include <iterator>

namespace {

struct Trampolines {
    std::vector<arch::Change> all;
};

struct Sites {
    std::vector<arch::Site> all;  // by address
};

void move(std::vector<arch::Site>& sites, std::uintptr_t by) {
    for (arch::Site& each : sites) {
        each.address += by;
        each.region += by;
    }
}

template <std::uint8_t bit>
bool uses(const arch::Site& site) {
    return (site.uses & bit) != 0;
}

void add_site(nb::module_& m) {
    using arch::Site;
    nb::class_<Site>(m, "Site", "An instruction that refers to the byte at `offset` in the region at `region`.")
        .def(
            "__init__",
            [](Site* self, std::uint64_t address, std::uint64_t region, std::int32_t offset, std::uint32_t function,
               std::uint8_t length, std::uint8_t tactic, std::uint8_t scratch, std::uint8_t operand_at, bool writes,
               bool takes_address, bool reads) {
                const auto bits = static_cast<std::uint8_t>((writes ? arch::writes_bit : 0) |
                                                            (takes_address ? arch::takes_address_bit : 0) |
                                                            (reads ? arch::reads_bit : 0));
                new (self) Site{address, region, offset, function, length, tactic, scratch, operand_at, bits, {}};
            },
            "address"_a, "region"_a, "offset"_a, "function"_a, "length"_a, "tactic"_a, "scratch"_a, "operand_at"_a,
            "writes"_a, "takes_address"_a, "reads"_a)
        .def_ro("address", &Site::address)
        .def_ro("region", &Site::region)
        .def_ro("offset", &Site::offset)
        .def_ro("function", &Site::function, "Number of the symbol.")
        .def_ro("length", &Site::length, "Bytes of the instruction.")
        .def_ro("tactic", &Site::tactic, "How its trampoline gets a register: a number of the processor's own.")
        .def_ro("scratch", &Site::scratch, "Number of that register.")
        .def_ro("operand_at", &Site::operand_at, "Index, in the instruction, of what names the operand.")
        .def_prop_ro("writes", &uses<arch::writes_bit>)
        .def_prop_ro("takes_address", &uses<arch::takes_address_bit>)
        .def_prop_ro("reads", &uses<arch::reads_bit>,
                     "Also if it takes the address, through which later code may read.");
}

void add_all_sites(nb::module_& m) {
    nb::class_<Sites>(m, "Sites", "Sites of one image, in order of address.")
        .def(
            "__init__",
            [](Sites* self, std::vector<arch::Site> sites) {
                std::ranges::sort(sites, {}, &arch::Site::address);
                new (self) Sites{std::move(sites)};
            },
            "sites"_a, "Take sites, which can be in any order.")
        .def_static(
            "unpack",
            [](std::uintptr_t base, const nb::bytes& rows) {
                Sites sites{unpacked<arch::Site>(rows)};
                move(sites.all, base);
                return sites;
            },
            "base"_a, "rows"_a, "What `pack` gave, for the image at `base`; MisfitError for rows that are cut off.")
        .def(
            "pack",
            [](const Sites& s, std::uintptr_t base) {
                std::vector<arch::Site> sites = s.all;
                move(sites, -base);
                return to_bytes(sites);
            },
            "base"_a, "Rows of 32 bytes whose addresses count from `base`, the same in every process.")
        .def("__len__", [](const Sites& s) { return s.all.size(); })
        .def(
            "__iter__", [](const Sites& s) { return nb::iter(nb::cast(s.all)); },
            nb::sig("def __iter__(self) -> collections.abc.Iterator[Site]"))
        .def(
            "of",
            [](const Sites& s, const arch::Slots& slots) {
                Sites found;
                std::ranges::copy_if(s.all, std::back_inserter(found.all),
                                     [&](const arch::Site& each) { return slots.contains(each.region); });
                return found;
            },
            "slots"_a, "Those of the regions that have a slot.")
        .def(
            "uses", [](const Sites& s) { return arch::group_uses(s.all); },
            "What the sites of each region do with it, by address of the region.");
    nb::class_<arch::Uses>(m, "Uses", "What the sites of one region do with it.")
        .def_ro("writes", &arch::Uses::writes)
        .def_ro("writes_head", &arch::Uses::writes_head, "At the first byte: a constructor does.")
        .def_ro("takes_address", &arch::Uses::takes_address)
        .def_prop_ro(
            "functions", [](const arch::Uses& u) { return nb::tuple(nb::cast(u.functions)); },
            nb::sig("def functions(self) -> tuple[int, ...]"), "Numbers of symbols, in the order of the code.");
}

void prepare_recording(const values::Space& space, const patch::Transaction& transaction, const Sites& sites,
                       const arch::Readers& readers) {
    std::vector<views::ReadingInstruction> reading;
    for (std::size_t i = 0; i < sites.all.size(); ++i) {
        const arch::Site& site = sites.all[i];
        if (uses<arch::reads_bit>(site) && readers.words[i] >= readers.first)
            reading.push_back({transaction.trampoline_of(site.address) + arch::use_at(site),
                               readers.words[i] - readers.first, site.scratch});
    }
    views::prepare_poison(space.image(), space.layout(), std::move(reading));
}

void add_readers(nb::module_& m) {
    nb::class_<arch::Reader>(m, "Reader", "The instructions of one function that refer to one region in one way.")
        .def_ro("slot", &arch::Reader::slot)
        .def_ro("function", &arch::Reader::function, "Number of the symbol.")
        .def_ro("offset", &arch::Reader::offset, "Of the address that is taken, in the region; 0 where none is.")
        .def_ro("takes_address", &arch::Reader::takes_address)
        .def_ro("reads", &arch::Reader::reads, "Otherwise these instructions only write.");
    nb::class_<arch::Readers>(m, "Readers", "Every reader of an image, in the order of the code.")
        .def(
            "__init__",
            [](arch::Readers* self, const Sites& sites, const arch::Slots& slots,
               const std::unordered_set<std::uint64_t>& alike,
               std::uint32_t first) { new (self) arch::Readers(arch::group_readers(sites.all, slots, alike, first)); },
            "sites"_a, "slots"_a, "alike"_a, "first"_a,
            "Group sites. `slots`: by address of a region; sites of the `alike` have no reader. `first`: the word of "
            "the view that the first reader has.")
        .def(
            "__iter__", [](const arch::Readers& r) { return nb::iter(nb::cast(r.all)); },
            nb::sig("def __iter__(self) -> collections.abc.Iterator[Reader]"))
        .def_rw("words", &arch::Readers::words, "Of the view, for each site: its reader's, or its region's slot.");
    m.def("prepare_recording", &prepare_recording, "space"_a, "transaction"_a, "sites"_a, "readers"_a,
          "Make recordings see the reads of the sites of an image. Later calls for the same image have no effect.");
}

void add_tracing(nb::module_& m) {
    using arch::Step;
    using arch::Value;
    const auto number = [](Value::Kind kind) {
        return [kind](const Value& v) { return v.kind == kind ? std::optional(v.number) : std::nullopt; };
    };
    nb::class_<Value>(m, "Value", "What is known of a word that a function uses.")
        .def_prop_ro("constant", number(Value::constant))
        .def_prop_ro("argument", number(Value::argument), "The index of the argument that it is.");
    nb::enum_<Step::Kind>(m, "StepKind")
        .value("call", Step::call)
        .value("store", Step::store)
        .value("virtual_call", Step::virtual_call);
    nb::class_<Step>(m, "Step", "Something that a function does (native/arch/tracing.hpp).")
        .def_ro("kind", &Step::kind)
        .def_ro("target", &Step::target,
                "The code or the slot that leads to what is called, the address of a store, or the bytes into a table.")
        .def_ro("first", &Step::first, "The first argument of a call, or the word that is stored.")
        .def_ro("second", &Step::second, "The second argument of a call.");
    m.def("trace", &arch::trace, "image"_a, "function"_a,
          "What a function does, in the order of its code; None if it has an unusual instruction.");
}

}  // namespace

void add_sites(nb::module_& m) {
    add_site(m);
    add_all_sites(m);
    add_readers(m);
    add_tracing(m);
    nb::class_<arch::FunctionReferences>(m, "FunctionReferences", "Candidate references of one function.")
        .def_ro("function", &arch::FunctionReferences::function)
        .def_ro("places", &arch::FunctionReferences::places);
    m.def("find_references_to_each", &arch::find_references_to_each, "image"_a, "spans"_a, nb::call_guard<WithoutGil>(),
          "Return, for each of several lists of spans, the candidate references into it, by function. The image must "
          "outlive the result.");
    m.def("find_references_in", &arch::find_references_in, "image"_a, "spans"_a, "functions"_a,
          nb::call_guard<WithoutGil>(), "Do the same for one list, in the functions of these numbers.");
    m.def(
        "locate", &arch::locate, "image"_a, "references"_a,
        "(address, length, index of the byte that names the operand) of each instruction at the places, or None if the "
        "function has an unusual one on the way.");
    m.def("find_branches", &arch::find_branches, "image"_a, "targets"_a, nb::call_guard<WithoutGil>(),
          "(address, target) of candidates for direct calls and jumps to the targets.");
    m.def(
        "rewrite",
        [](const nb::bytes& instruction, std::size_t operand_at, unsigned scratch, std::int32_t offset) {
            return to_bytes(arch::rewrite(bytes_of(instruction), operand_at, scratch, offset));
        },
        "instruction"_a, "operand_at"_a, "scratch"_a, "offset"_a,
        "The instruction with its operand `offset` bytes past the register `scratch`.");
    nb::class_<Trampolines>(m, "Trampolines", "What runs instead of thousands of instructions.")
        .def(
            "__iter__",
            [](const Trampolines& t) {
                nb::list made;
                for (const auto& each : t.all)
                    made.append(nb::make_tuple(each.address, to_bytes(each.before), to_bytes(each.code)));
                return nb::iter(made);
            },
            nb::sig("def __iter__(self) -> collections.abc.Iterator[tuple[int, bytes, bytes]]"),
            "(address, bytes of the instruction, what runs instead) of each.");
    m.def(
        "trampolines",
        [](const image::Library& i, const Sites& sites, const arch::Readers& readers, std::int32_t view_offset,
           std::int32_t exposed_offset) {
            return Trampolines{arch::trampolines(i, sites.all, readers, view_offset, exposed_offset)};
        },
        "image"_a, "sites"_a, "readers"_a, "view_offset"_a, "exposed_offset"_a,
        "What runs instead of each site; MisfitError if the library's file does not have such instructions.");
    nb::class_<patch::Transaction>(m, "Transaction", "Redirected instructions of one image: prepare, commit, undo.")
        .def(
            "__init__",
            [](patch::Transaction* self, const std::vector<std::tuple<std::uintptr_t, nb::bytes, nb::bytes>>& sites,
               std::uintptr_t begin, std::uintptr_t end, const Trampolines* trampolines) {
                std::vector<arch::Change> changes;
                if (trampolines != nullptr) changes = trampolines->all;
                for (const auto& [address, before, code] : sites)
                    changes.push_back({address, unpacked<std::uint8_t>(before), unpacked<std::uint8_t>(code)});
                new (self) patch::Transaction(std::move(changes), begin, end);
            },
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
