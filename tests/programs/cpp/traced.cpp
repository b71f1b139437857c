// Functions whose code is known byte by byte, for what tracing says of their calls of __cxa_atexit(destructor, object).
asm(R"(
    .data
    .type one, @object
    .size one, 8
    .type two, @object
    .size two, 8
one: .quad 1
two: .quad 2
    .text
    .macro function name
    .globl \name
    .type \name, @function
\name:
    .cfi_startproc
    .endm
    .macro over name
    .cfi_endproc
    .size \name, . - \name
    .endm

    function straight
    push %rbx
    mov %rdi, %rbx
    lea one(%rip), %rsi
    mov %rsi, %r12
    lea two(%rip), %rdi
    call __cxa_atexit@PLT
    mov %rbx, %rdi
    mov %r12, %rsi
    mov $7, %edx
    call *__cxa_atexit@GOTPCREL(%rip)
    pop %rbx
    mov $24, %esi
    jmp __cxa_atexit@PLT
    over straight

    function joined
    lea one(%rip), %rsi
    mov %rdi, %rbx
    test %edx, %edx
    je 1f
    lea two(%rip), %rsi
1:  mov %rbx, %rdi
    call __cxa_atexit@PLT
    ret
    over joined

    function jumped_to
    test %edx, %edx
    je 2f
    lea one(%rip), %rsi
    jmp 1f
2:  lea two(%rip), %rsi
    jmp 1f
1:  call __cxa_atexit@PLT
    ret
    over jumped_to

    function repeated
    lea one(%rip), %rbx
    mov %rdi, %r12
1:  mov %rbx, %rsi
    mov %r12, %rdi
    call __cxa_atexit@PLT
    add $8, %rbx
    cmp $9, %rax
    jne 1b
    ret
    over repeated

    function overwritten
    xchg %rdi, %rbx
    call __cxa_atexit@PLT
    mov %rsi, %r12
    mov $5, %ah
    pop %rsi
    mov %r12, %rdi
    call __cxa_atexit@PLT
    ret
    lea one(%rip), %rdi
    call __cxa_atexit@PLT
    over overwritten

    function halves
    lea one(%rip), %rbx
    mov $3, %bh
    mov %rbx, %rsi
    lea one(%rip), %rdi
    call __cxa_atexit@PLT
    lea one(%rip), %rbx
    movzwl two(%rip), %eax
    mov %rbx, %rdi
    setc %bl
    mov %rbx, %rsi
    call __cxa_atexit@PLT
    ret
    over halves

    function stores
    mov %rsi, one(%rip)
    mov %rdi, %rax
    mov %rax, two(%rip)
    mov (%rdi), %rax
    call *0x40(%rax)
    ret
    over stores

    function by_table
    lea one(%rip), %rdi
    jmp *%rax
    over by_table

    function unusual
    .byte 0x62, 0xf1, 0x7c, 0x48, 0x10, 0x07
    ret
    over unusual
)");
