/* The C interface of optctx's extension module, version 2, for C and for languages that can call C.
 * <optctx/option_context.hpp> and <optctx/scope.hpp> are built on it. No function throws, prints, needs the GIL or
 * changes a process-wide value of an option.
 *
 *   const optctx_interface *optctx_find_interface(uint32_t version)
 *
 * is the only symbol that the module exports besides Python's own. It returns NULL for an unsupported version. The
 * module is loaded with local symbols (RTLD_LOCAL); <optctx/detail/loaded.hpp> shows how to find it. */
#ifndef OPTCTX_INTERFACE_H
#define OPTCTX_INTERFACE_H

#include <stddef.h>
#include <stdint.h>

#define OPTCTX_INTERFACE_VERSION 2u
#define OPTCTX_INTERFACE_SYMBOL "optctx_find_interface"

#ifdef __cplusplus
extern "C" {
#endif

/* The status codes that the functions return. */
enum optctx_status {
    OPTCTX_OK = 0,
    OPTCTX_NOT_ATTACHED = 1,   /* optctx has not attached to that LLVM in this process yet */
    OPTCTX_UNKNOWN_OPTION = 2, /* no option with that name is registered */
    OPTCTX_UNREADABLE = 3,     /* the option has type "other", whose value cannot be represented */
    OPTCTX_NOT_BOUND = 4,      /* the LLVMContext is not bound to a context */
    OPTCTX_FAILED = 5,         /* any other failure, such as running out of memory */
    OPTCTX_OTHER_IMAGE = 6,    /* the context and the option belong to different images */
    OPTCTX_BAD_VALUE = 7,      /* the option does not take this value */
    OPTCTX_PROCESS_WIDE = 8,   /* the option cannot be set for one thread */
    OPTCTX_SCOPE = 9           /* the scope cannot be entered or left here and now */
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
    OPTCTX_OTHER = 13
};

/* An image: a library with an LLVM in it that optctx has attached to. A process can have several, and each has options
 * and contexts of its own. One image is one object, immutable and valid until the process ends. */
typedef struct optctx_image {
    const char* path;     /* of the library's file */
    const char* build_id; /* in hexadecimal digits; empty if the library has none */
} optctx_image;

/* A registered option of an image. Immutable; valid until the process ends. */
typedef struct optctx_option {
    const optctx_image* image;
    const char* name; /* the option's own name, even if it was looked up by an alias */
    const char* type; /* the type as registry() names it: "bool", "uint", "enum", ... */
    uint32_t kind;    /* enum optctx_kind */
    uint32_t element; /* element kind of a list or bits; otherwise equal to `kind` */
    uint32_t size;    /* bytes in which LLVM stores the value or one element; 1, 4 or 8 for an enum */
} optctx_option;

/* A full, immutable set of option values of an image. Reference-counted, so it may outlive the Python object. NULL
 * stands for the process-wide values at the time of each read. */
typedef struct optctx_context optctx_context;

typedef struct optctx_item {
    uint64_t bits;    /* bool, integer (int is sign-extended), char, stored value of an enum, or number of a bit */
    double real;      /* float or double */
    const char* text; /* string (may contain NULs) or name of an enum's choice; NULL if it holds none of its choices */
    size_t length;    /* length of `text` in bytes */
} optctx_item;

/* The value of an option: one item, or any number of items for a list or bits. Valid until `release_value`.
 * Do not copy or move it: `items` may point into it. */
typedef struct optctx_value {
    const optctx_item* items;
    size_t count;
    optctx_item single;
    void* owned;
} optctx_value;

/* UTF-8 without NUL, of this many bytes; not terminated. */
typedef struct optctx_text {
    const char* data;
    size_t length;
} optctx_text;

/* A value for an option, by its name or an alias. Either one text, as in -name=text, or the elements of a list or bits.
 */
typedef struct optctx_setting {
    optctx_text name;
    const optctx_text* values;
    size_t count;
    uint32_t elements; /* 0: `values` is one text; 1: it is `count` elements */
} optctx_setting;

/* A scope that a thread has entered. A value: copy it freely. */
typedef struct optctx_scope {
    uint64_t thread;
    uint64_t number;
} optctx_scope;

/* Filled in by every function that returns a status other than OPTCTX_OK. */
typedef struct optctx_error {
    char message[512]; /* NUL-terminated */
} optctx_error;

/* Every `error` argument may be NULL. `*out` is set only if the function returns OPTCTX_OK. */
typedef struct optctx_interface {
    uint32_t version; /* OPTCTX_INTERFACE_VERSION */
    uint32_t size;    /* size of this struct in bytes; later releases may append functions */

    /* Gives the image whose library holds this address, such as that of an LLVM function that the caller uses. NULL
     * stands for llvmlite's LLVM. */
    int32_t (*image)(const void* address, const optctx_image** out, optctx_error* error);
    /* Gives the context of the image in the calling thread's innermost scope of that image, or NULL outside its scopes.
     * The caller must release it. */
    int32_t (*current)(const optctx_image* image, const optctx_context** out, optctx_error* error);
    /* Gives the context that is bound to an llvm::LLVMContext of the image. The caller must release it. */
    int32_t (*bound)(const optctx_image* image, const void* llvm_context, const optctx_context** out,
                     optctx_error* error);
    /* Adds and removes one reference. Both accept NULL. */
    void (*retain)(const optctx_context* context);
    void (*release)(const optctx_context* context);

    /* Finds an option of the image by its name or an alias, without leading dashes. */
    int32_t (*find)(const optctx_image* image, const char* name, size_t length, const optctx_option** out,
                    optctx_error* error);
    int32_t (*read)(const optctx_context* context, const optctx_option* option, optctx_value* out, optctx_error* error);
    void (*release_value)(optctx_value* value);
    /* Gives how many times the option was given in `context`. */
    int32_t (*occurrences)(const optctx_context* context, const optctx_option* option, uint32_t* out,
                           optctx_error* error);

    /* Appended to version 2: where `size` does not reach, the module has none of them. */

    /* Makes a context of the image: the values of `base`, with the settings on top, of which a later one hides an
     * earlier one. If `base` is NULL: the process-wide values of this moment. The caller must release it. LLVM's own
     * parsers judge the values. */
    int32_t (*make)(const optctx_image* image, const optctx_context* base, const optctx_setting* settings, size_t count,
                    const optctx_context** out, optctx_error* error);
    /* Enters a context on the calling thread, which must leave it, or leaves it when it ends. `context` must not be
     * NULL. */
    int32_t (*enter)(const optctx_context* context, optctx_scope* out, optctx_error* error);
    /* Leaves a scope of the calling thread. */
    int32_t (*leave)(optctx_scope scope, optctx_error* error);
} optctx_interface;

#ifdef __cplusplus
}
#endif

#endif
