/* The C interface of optctx's extension module, version 3: five functions, for C and for languages that can call C.
 * <optctx/optctx.hpp> is built on it. No function throws, prints, waits for the GIL or changes a process-wide value.
 *
 *   const optctx_interface *optctx_find_interface(uint32_t version)
 *
 * is the only symbol that the module exports besides Python's own. It returns NULL for an unsupported version. The
 * module is loaded with local symbols (RTLD_LOCAL); the header shows how to find it. */
#ifndef OPTCTX_INTERFACE_H
#define OPTCTX_INTERFACE_H

#include <stddef.h>
#include <stdint.h>

#define OPTCTX_INTERFACE_VERSION 3u
#define OPTCTX_INTERFACE_SYMBOL "optctx_find_interface"

#ifdef __cplusplus
extern "C" {
#endif

/* What the functions return. */
enum optctx_status {
    OPTCTX_OK = 0,
    OPTCTX_UNAVAILABLE = 1,    /* optctx is not loaded, not attached to that LLVM, or of another version */
    OPTCTX_UNKNOWN_OPTION = 2, /* no option with that name is registered */
    OPTCTX_OTHER_TYPE = 3, /* the value has another type than the caller asks for, is a list, or has no readable form */
    OPTCTX_BAD_VALUE = 4,  /* the option does not take this value */
    OPTCTX_PROCESS_WIDE = 5, /* the option cannot be set for one thread */
    OPTCTX_SCOPE = 6,        /* the scope cannot be entered or left here and now */
    OPTCTX_FAILED = 7        /* any other failure, such as running out of memory */
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
    OPTCTX_STRING = 9,
    OPTCTX_ENUM = 10
};

/* The value of an option. */
typedef struct optctx_value {
    uint32_t kind;    /* enum optctx_kind */
    uint64_t bits;    /* bool, or an integer (int is sign-extended) */
    double real;      /* float or double */
    const char* text; /* string (may contain NULs) or name of an enum's choice; NULL if it holds none of its choices */
    size_t length;    /* length of `text` in bytes */
} optctx_value;

/* Takes a value, which is valid until the function returns. It must not throw. */
typedef void (*optctx_take)(void* to, const optctx_value* value);

/* A full, immutable set of option values of one LLVM. */
typedef struct optctx_context optctx_context;

/* A scope that a thread has entered. A value: copy it freely. */
typedef struct optctx_scope {
    uint64_t thread;
    uint64_t number;
} optctx_scope;

/* Filled in by every function that returns a status other than OPTCTX_OK. */
typedef struct optctx_error {
    char message[512]; /* NUL-terminated */
} optctx_error;

/* `code` is an address in the code of the LLVM that is meant, such as that of one of its functions; NULL stands for
 * llvmlite's. Names of options may be aliases, and have no leading dashes. */
typedef struct optctx_interface {
    uint32_t version; /* OPTCTX_INTERFACE_VERSION */

    /* Calls `take` with the value that the option has on the calling thread. */
    int32_t (*read)(const void* code, const char* name, size_t length, optctx_take take, void* to, optctx_error* error);
    /* Makes a context: the values that the calling thread sees, with the arguments on top. Each is NAME=VALUE, as on a
     * command line; a flag's value is "true". LLVM's own parsers judge the values. The caller must release it. */
    int32_t (*prepare)(const void* code, const char* const* arguments, size_t count, const optctx_context** out,
                       optctx_error* error);
    /* Threads that are inside are not affected. */
    void (*release)(const optctx_context* context);
    /* Enters a context on the calling thread, which must leave it, or leaves it when it ends. */
    int32_t (*enter)(const optctx_context* context, optctx_scope* out, optctx_error* error);
    /* Leaves a scope of the calling thread. */
    int32_t (*leave)(optctx_scope scope, optctx_error* error);
} optctx_interface;

#ifdef __cplusplus
}
#endif

#endif
