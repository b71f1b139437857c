// Libraries, their symbols and memory, and the registry: names and conversions, no logic.
#include "image/layouts.hpp"
#include "image/library.hpp"
#include "image/memory.hpp"
#include "image/registry.hpp"
#include "python/bindings.hpp"
#include "python/bytes.hpp"

#include <cxxabi.h>

#include <nanobind/stl/array.h>
#include <nanobind/stl/string_view.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <stdexcept>

namespace {

std::string text_of(image::Snapshot& memory, const image::RawStringRef& text, const char* what) {
    return memory.load_text(reinterpret_cast<std::uintptr_t>(text.data), text.size, what);
}

std::vector<std::string> categories(const image::RawOption& option) {
    image::Snapshot memory;
    std::vector<std::string> names;
    for (std::uint32_t i = 0; i < option.category_count; ++i)
        names.push_back(text_of(memory, *option.categories[i], "the name of a category"));
    return names;
}

std::string demangle(const std::string& name) {
    const std::unique_ptr<char, void (*)(void*)> plain(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, nullptr),
                                                       &std::free);
    return plain == nullptr ? name : plain.get();
}

// Calls a uintptr_t f(uintptr_t) at an address.
std::uintptr_t call_pointer(std::uintptr_t function, std::uintptr_t argument) {
    return reinterpret_cast<std::uintptr_t (*)(std::uintptr_t)>(function)(argument);
}

// Makes calls one after the other: for each a function's address and its arguments, whole numbers and addresses.
// Throws before the first call or not at all. No Python code runs in between.
void call_all(const std::vector<std::vector<std::uintptr_t>>& calls) {
    using Function = void (*)(std::uintptr_t, std::uintptr_t, std::uintptr_t, std::uintptr_t, std::uintptr_t);
    constexpr std::size_t most = 6;  // arguments that a function does not have are in registers that it ignores
    for (const auto& call : calls)
        if (call.empty() || call.size() > most) throw std::invalid_argument("a function and at most 5 arguments");
    for (const auto& call : calls) {
        std::array<std::uintptr_t, most> all{};
        std::ranges::copy(call, all.begin());
        reinterpret_cast<Function>(all[0])(all[1], all[2], all[3], all[4], all[5]);
    }
}

// Calls `Result f(Arguments...) const` through an object's vtable. The object is LLVM's own: call while a LiveView
// lives.
template <class Result, class... Arguments>
Result call_virtual(std::uintptr_t object, unsigned index, Arguments... arguments) {
    const auto* functions = *reinterpret_cast<void* const* const*>(object);
    return reinterpret_cast<Result (*)(std::uintptr_t, Arguments...)>(functions[index])(object, arguments...);
}

auto live(bool (image::RawOption::*asked)(unsigned) const) {
    return [asked](const image::RawOption& option, unsigned index) {
        const views::LiveView live;
        return (option.*asked)(index);
    };
}

// What a cl::generic_parser_base lists: name, help text, and the first word of what each choice stores. `functions`:
// the indexes of getNumOptions, getOption, getDescription and getOptionValue.
using Choice = std::tuple<std::string, std::string, std::uintptr_t>;
std::vector<Choice> read_choices(std::uintptr_t parser, const std::array<unsigned, 4>& functions) {
    constexpr unsigned most = 4096;
    const views::LiveView live;
    const auto [number, name, help, value] = functions;
    const auto count = call_virtual<unsigned>(parser, number);
    if (count > most) throw image::Misfit("there are " + std::to_string(count));
    image::Snapshot memory;
    std::vector<Choice> choices;
    for (unsigned i = 0; i < count; ++i) {
        // OptionValue<T>: {vtable, T, bool}
        const auto* stored = call_virtual<const std::uintptr_t*>(parser, value, i);
        choices.emplace_back(
            text_of(memory, call_virtual<image::RawStringRef>(parser, name, i), "the name of a choice"),
            text_of(memory, call_virtual<image::RawStringRef>(parser, help, i), "the help text of a choice"),
            stored[1]);
    }
    return choices;
}

}  // namespace

void add_image(nb::module_& m) {
    nb::register_exception_translator(raise_in_python<std::runtime_error>, PyExc_RuntimeError);
    add_error<image::Misfit>(m, "MisfitError", PyExc_RuntimeError);
    // The name belongs to the image, which lives as long as the process once it is in use.
    nb::class_<image::Symbol>(m, "Symbol",
                              "A function or object of an image: absolute address, size in bytes, mangled name.")
        .def_ro("address", &image::Symbol::address)
        .def_ro("size", &image::Symbol::size)
        .def_ro("number", &image::Symbol::number)
        .def_prop_ro("name", [](const image::Symbol& s) { return std::string(s.name); });
    nb::class_<image::Library>(m, "Library", "A shared library of this process, with the symbols of its file.")
        .def(
            "__init__",
            [](image::Library* self, const nb::bytes& path, std::uintptr_t base) {
                new (self) image::Library({path.c_str(), path.size()}, base);
            },
            "path"_a, "base"_a, "`path`: as `os.fsencode` gives it.")
        .def_prop_ro("path", [](const image::Library& i) { return path_of(i.path()); })
        .def_prop_ro("base", &image::Library::base)
        .def_prop_ro("build_id", &image::Library::build_id)
        .def_prop_ro("debug_file", [](const image::Library& i) { return path_of(i.debug_file()); })
        .def_prop_ro("is_stripped", &image::Library::is_stripped,
                     "Whether nothing but what the library exports has a name.")
        .def_prop_ro("end", &image::Library::end, "The address past its last byte in memory.")
        .def_prop_ro("text_begin", &image::Library::text_begin)
        .def_prop_ro("text_end", &image::Library::text_end)
        .def("function_at", &image::Library::function_at, "address"_a,
             "The function whose code holds the address, or None.")
        .def("object_at", &image::Library::object_at, "address"_a,
             "The object whose storage holds the address, or None.")
        .def("named", &image::Library::named, "name"_a, "The function or object with this mangled name, or None.")
        .def("numbered", &image::Library::numbered, "number"_a,
             "The function or object in that place of the symbol table, or None.")
        .def(
            "name_of",
            [](const image::Library& i, std::uint32_t number) {
                const auto symbol = i.numbered(number);
                return symbol ? std::string(symbol->name) : std::string();
            },
            "number"_a, "The mangled name of what is there; empty for nothing.")
        .def("functions_named", &image::Library::functions_named, "patterns"_a,
             "For each (prefix, infix), the functions whose mangled name starts with the one and holds the other after "
             "that; the image must outlive the answer.")
        .def(
            "initial_bytes",
            [](const image::Library& i, std::uintptr_t address, std::size_t size) {
                return to_bytes(i.initial_bytes(address, size));
            },
            "address"_a, "size"_a, "What the file says is there before anything has run; zeros in .bss.")
        .def("contains", &image::Library::contains, "address"_a)
        .def("is_slot", &image::Library::is_slot, "address"_a, "Whether it is one of the global offset table.")
        .def(
            "add_symbols",
            [](image::Library& i, const std::vector<std::tuple<std::string, std::uint32_t, std::uint32_t, bool>>& all) {
                std::vector<image::AddedSymbol> symbols;
                for (const auto& [name, address, size, is_function] : all)
                    symbols.push_back({name, address, size, is_function});
                i.add_symbols(symbols);
            },
            "symbols"_a,
            "Adds (name, bytes from the base, size, whether it is a function), as proven of a stripped library.")
        .def("initialisers", &image::Library::initialisers, "The functions that ran when the library was loaded.")
        .def("slots_of", &image::Library::slots_of, "name"_a,
             "The slots of the global offset table that lead to what has this name.")
        .def("pointers_into", &image::Library::pointers_into, "spans"_a,
             "(its address, what it points at) of each pointer in the image's data into one of the spans.")
        .def_prop_ro(
            "identity",
            [](const image::Library& i) {
                const auto& id = i.identity();
                return std::tuple(id.device, id.inode, id.size, id.modified, id.changed);
            },
            "The library's file: device, inode, bytes, times of the last change of its content and of its status, in "
            "nanoseconds.")
        .def("stay_loaded", &image::Library::stay_loaded, "Keeps the library loaded until the process ends.")
        .def("forget_symbols", &image::Library::forget_symbols,
             "Frees the index of symbols; what is asked for later is worked out again.")
        .def("release_pages", &image::Library::release_pages,
             "Takes the file's pages out of resident memory; what is asked for later is read again.");
    m.def(
        "loaded_libraries",
        [] {
            std::vector<std::pair<nb::str, std::uintptr_t>> found;
            for (const auto& [path, base] : image::loaded_libraries()) found.emplace_back(path_of(path), base);
            return found;
        },
        "(path, base) of every shared library in this process.");
    nb::class_<image::Span>(m, "Span").def(nb::init<std::uintptr_t, std::size_t>(), "begin"_a, "size"_a);
    nb::class_<image::RawOption>(m, "RawOption", "The common part of a cl::Option object, read in place.")
        .def_prop_ro("vtable", [](const image::RawOption& o) { return reinterpret_cast<std::uintptr_t>(o.vtable); })
        .def_ro("occurrences", &image::RawOption::occurrences)
        .def_prop_ro("help", [](const image::RawOption& o) { return std::string(o.help.data, o.help.size); })
        .def_prop_ro("hidden", &image::RawOption::hidden)
        .def("needs_value", live(&image::RawOption::needs_value), "index"_a)
        .def("takes_no_value", live(&image::RawOption::takes_no_value), "index"_a)
        .def_prop_ro("splits_at_commas", &image::RawOption::splits_at_commas)
        .def_prop_ro("categories", &categories);
    m.def(
        "option_at", [](std::uintptr_t address) { return reinterpret_cast<const image::RawOption*>(address); },
        "address"_a, nb::rv_policy::reference);
    m.def("walk_registry", &image::walk_registry, "map"_a, "image"_a = nb::none(),
          "(layout, [(name, address of the Option)] by name) after checking every entry. Leaves out what LLVM adds to "
          "parse a command line (-h, for `help`), and what is not in `image` and does not check out.");
    m.def(
        "read_checked",
        [](std::uintptr_t address, std::size_t size, const char* what, const image::Library* image) {
            const auto safe = image == nullptr ? std::span<const image::Span>() : image->mapped();
            return to_bytes(image::load_bytes(address, size, what, safe));
        },
        "address"_a, "size"_a, "what"_a, "image"_a = nb::none(),
        "Bytes of memory whose layout is in doubt, `what` they are taken for; MisfitError if they cannot be read. Does "
        "not ask the system for what `image` has mapped.");
    m.def("trim_heap", &os::trim_heap, "Give the heap's free pages back to the system.");
    m.def(
        "read_bytes",
        [](std::uintptr_t address, std::size_t count) {
            const views::LiveView live;
            return nb::bytes(reinterpret_cast<const char*>(address), count);
        },
        "address"_a, "count"_a);
    m.def("demangle", &demangle, "name"_a);
    m.def("call_pointer", &call_pointer, "function"_a, "argument"_a = 0);
    m.def("call_all", &call_all, "calls"_a);
    m.def("read_choices", &read_choices, "parser"_a, "functions"_a,
          "(name, help text, first word of what it stores) of each choice that a parser lists.");
}
