// Objects that end where others begin. The assembler keeps their order; a compiler need not.
asm(R"(
    .data
    .balign 32
    .macro object name
    .globl \name
    .hidden \name
    .type \name, @object
    .size \name, 32
\name:
    .zero 32
    .endm
    object before_option
    object option
    object behind_option
    object before_table
    object table
    .text
)");

extern "C" {
#define HIDDEN __attribute__((visibility("hidden")))
extern HIDDEN volatile int before_option[8];
extern HIDDEN volatile int option[8];
extern HIDDEN volatile int behind_option[8];
extern HIDDEN volatile int before_table[8];
extern HIDDEN volatile int table[8];

// Takes the end of the array, which is the start of the option.
int goes_over_the_array() {
    volatile int* end = option;
    asm("" : "+r"(end));
    int sum = 0;
    for (volatile int* at = before_option; at != end; ++at) sum += *at;
    return sum;
}

// The same with a pointer to the third of every four elements.
int goes_over_members() {
    volatile int* end = option + 2;
    asm("" : "+r"(end));
    int sum = 0;
    for (volatile int* at = before_option + 2; at != end; at += 4) sum += *at;
    return sum;
}

// And downwards, to before the array's start.
int goes_down() {
    volatile int* end = behind_option + 7;
    asm("" : "+r"(end));
    int sum = 0;
    for (volatile int* at = before_table + 7; at != end; --at) sum += *at;
    return sum;
}

volatile int* takes_the_option() { return option; }

int reads_both() { return before_option[0] + option[0]; }

volatile int* takes_the_next_one(bool read) { return read && option[1] != 0 ? nullptr : behind_option; }

volatile int* takes_the_table() { return before_table[0] != 0 ? nullptr : table; }
}
