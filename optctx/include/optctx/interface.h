/* The C interface of optctx's extension module, version 1: what <optctx/option_context.hpp> is made of, for C and for
 * languages that speak C. No function throws, prints, needs Python's lock or changes an option.
 *
 *   const optctx_interface *optctx_find_interface(uint32_t version)
 *
 * is the one symbol that the module exports besides Python's; it gives NULL for a version that it does not have. The
 * module is loaded with local symbols: look for it as <optctx/detail/loaded.hpp> does. */
#ifndef OPTCTX_INTERFACE_H
#define OPTCTX_INTERFACE_H

#include <stddef.h>
#include <stdint.h>

#define OPTCTX_INTERFACE_VERSION 1u
#define OPTCTX_INTERFACE_SYMBOL "optctx_find_interface"

#ifdef __cplusplus
extern "C" {
#endif

/* What the functions return. */
enum optctx_status {
    OPTCTX_OK = 0,
    OPTCTX_NOT_ATTACHED = 1,   /* optctx was not used in this process yet, so it has not looked at LLVM */
    OPTCTX_UNKNOWN_OPTION = 2, /* no option is registered under the name */
    OPTCTX_UNREADABLE = 3,     /* an option of type "other": its value has no form that could be handed out */
    OPTCTX_NOT_BOUND = 4,      /* no context is bound to the LLVMContext */
    OPTCTX_FAILED = 5          /* out of memory */
};

enum optctx_kind {
    OPTCTX_BOOL = 0,
    OPTCTX_BOOL_OR_DEFAULT = 1, /* cl::boolOrDefault: 0 unset, 1 true, 2 false */
    OPTCTX_INT32 = 2,
    OPTCTX_UINT32 = 3,
    OPTCTX_INT64 = 4,
    OPTCTX_UINT64 = 5,
    OPTCTX_FLOAT = 6,
    OPTCTX_DOUBLE = 7,
    OPTCTX_CHAR = 8,
    OPTCTX_STRING = 9,
    OPTCTX_ENUM = 10,
    OPTCTX_LIST = 11,
    OPTCTX_BITS = 12, /* cl::bits: a set of choices */
    OPTCTX_OTHER = 13,
    OPTCTX_SET = 14 /* std::set of an enum */
};

/* A registered option. Lives as long as the process and never changes. */
typedef struct optctx_option {
    const char* name; /* its own, where it was looked up by an alias */
    const char* type; /* as registry() calls it: "bool", "uint", "enum", ... */
    uint32_t kind;    /* enum optctx_kind */
    uint32_t element; /* of a list, bits or a set: the kind of its elements; otherwise the same as `kind` */
    uint32_t size;    /* bytes that LLVM stores the value, or one element, in; of an enum: 1, 4 or 8 */
} optctx_option;

/* A full set of option values, immutable; counted, so that it may outlive the Python object. NULL stands for the
 * process-wide values, as they are whenever they are read. */
typedef struct optctx_context optctx_context;

typedef struct optctx_item {
    uint64_t bits;    /* bool, integers (int: sign-extended), char, an enum as it is stored, the number of a bit */
    double real;      /* float and double */
    const char* text; /* a string (may hold NULs), or the choice of an enum, NULL if it holds none of its choices */
    size_t length;    /* of `text` */
} optctx_item;

/* The value of an option: one item, or for a list, bits or a set any number. Valid until `release_value`. Do not copy
 * or move it: `items` may point into it. */
typedef struct optctx_value {
    const optctx_item* items;
    size_t count;
    optctx_item single;
    void* owned;
} optctx_value;

/* Filled by a function that does not return OPTCTX_OK. */
typedef struct optctx_error {
    char message[512]; /* ends with NUL */
} optctx_error;

/* `error` may be NULL everywhere. What is behind `out` is set only with OPTCTX_OK. */
typedef struct optctx_interface {
    uint32_t version; /* OPTCTX_INTERFACE_VERSION */
    uint32_t size;    /* of this struct; a later release may have more functions at its end */

    /* What the calling thread is in: its innermost scope, outside any scope NULL. Owned by the caller. */
    int32_t (*current)(const optctx_context** out, optctx_error* error);
    /* What is bound to an llvm::LLVMContext. Owned by the caller. */
    int32_t (*bound)(const void* llvm_context, const optctx_context** out, optctx_error* error);
    /* One more owner, one less; both take NULL. */
    void (*retain)(const optctx_context* context);
    void (*release)(const optctx_context* context);

    /* By name or alias, without dashes. */
    int32_t (*find)(const char* name, size_t length, const optctx_option** out, optctx_error* error);
    int32_t (*read)(const optctx_context* context, const optctx_option* option, optctx_value* out, optctx_error* error);
    void (*release_value)(optctx_value* value);
    /* How often the option was given there. */
    uint32_t (*occurrences)(const optctx_context* context, const optctx_option* option);
} optctx_interface;

#ifdef __cplusplus
}
#endif

#endif
