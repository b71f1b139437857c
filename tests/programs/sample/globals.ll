; Data: constants to merge, variables to localise, thread-local storage, aliases, constructors.
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -relocation-model=pic -x86-branches-within-32B-boundaries=true %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -relocation-model=pic -x86-cmov-converter=false %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -relocation-model=pic -x86-cmov-converter-force-mem-operand=false %s
; RUN: llc -mtriple=aarch64-unknown-linux-gnu -relocation-model=pic -aarch64-elf-ldtls-generation=true %s
; RUN: llc -mtriple=aarch64-unknown-linux-gnu -relocation-model=pic -aarch64-enable-global-merge=true %s
; RUN: llc -mtriple=aarch64-unknown-linux-gnu -relocation-model=pic -mips-erase-gp-opnd=false %s

@one = internal constant [4 x i32] [i32 1, i32 2, i32 3, i32 4]
@two = internal constant [4 x i32] [i32 1, i32 2, i32 3, i32 4]
@text = private unnamed_addr constant [6 x i8] c"hello\00"
@small_a = internal global i32 0
@small_b = internal global i32 0
@small_c = internal global i32 0
@flag = internal global i1 false
@exported = global [3 x i64] [i64 1, i64 2, i64 3]
@external = external global i32
@per_thread = thread_local global i32 5
@hidden_per_thread = internal thread_local global i32 0
@again = alias i32, ptr @per_thread
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @construct, ptr null }]

define internal void @construct() {
  store i32 7, ptr @small_a
  ret void
}

define i32 @reads(i64 %i) {
  %p = getelementptr [4 x i32], ptr @one, i64 0, i64 %i
  %q = getelementptr [4 x i32], ptr @two, i64 0, i64 %i
  %a = load i32, ptr %p
  %b = load i32, ptr %q
  %c = load i32, ptr @external
  %d = load i32, ptr @small_a
  %e = add i32 %a, %b
  %f = add i32 %c, %d
  %g = mul i32 %e, %f
  ret i32 %g
}

define void @writes(i32 %x) {
  store i32 %x, ptr @small_a
  store i32 %x, ptr @small_b
  store i32 1, ptr @small_c
  store i1 true, ptr @flag
  %at = getelementptr [3 x i64], ptr @exported, i64 0, i64 2
  store i64 9, ptr %at
  ret void
}

define i32 @sums() {
  %a = load i32, ptr @small_b
  %b = load i32, ptr @small_c
  %c = load i1, ptr @flag
  %d = zext i1 %c to i32
  %e = add i32 %a, %b
  %f = add i32 %e, %d
  ret i32 %f
}

define i32 @threads() {
  %a = load i32, ptr @per_thread
  %b = load i32, ptr @hidden_per_thread
  %c = add i32 %a, %b
  store i32 %c, ptr @hidden_per_thread
  ret i32 %c
}

define ptr @address(i1 %c) {
  %p = select i1 %c, ptr @text, ptr @exported
  ret ptr %p
}
