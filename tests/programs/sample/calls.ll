; Functions to inline, specialise, merge, outline, devirtualise and clean of arguments.
; RUN: opt -passes='default<O2>' -mtriple=x86_64-unknown-linux-gnu -inline-max-stacksize=1 %s
; RUN: opt -passes='default<O2>' -mtriple=x86_64-unknown-linux-gnu -enable-merge-functions=true %s
; RUN: opt -passes='default<O2>' -mtriple=x86_64-unknown-linux-gnu -inline-threshold=1 %s
; RUN: opt -passes='default<O2>' -mtriple=x86_64-unknown-linux-gnu -force-specialization=true %s
; RUN: opt -passes='default<O2>' -mtriple=x86_64-unknown-linux-gnu -rotation-max-header-size=0 %s
; RUN: opt -passes='default<O2>' -mtriple=x86_64-unknown-linux-gnu -inline-instr-cost=0 %s
; RUN: opt -passes='default<O2>' -mtriple=x86_64-unknown-linux-gnu -funcspec-min-function-size=3 %s
; RUN: opt -passes='default<O2>' -mtriple=x86_64-unknown-linux-gnu -inlinedefault-threshold=1 %s
; RUN: opt -passes='default<O2>' -mtriple=x86_64-unknown-linux-gnu -enable-coldcc-stress-test=true %s
; RUN: opt -passes='default<O2>' -mtriple=x86_64-unknown-linux-gnu -enable-merge-functions=true -inline-instr-cost=0 %s
; RUN: opt -passes='default<O2>' -mtriple=x86_64-unknown-linux-gnu -use-registers-for-deopt-values=true %s
; RUN: opt -passes='partial-inliner,mergefunc' -mtriple=x86_64-unknown-linux-gnu -mergefunc-preserve-debug-info=true %s
; RUN: opt -passes='partial-inliner,mergefunc' -mtriple=x86_64-unknown-linux-gnu -max-num-inline-blocks=0 %s
; RUN: opt -passes='partial-inliner,mergefunc' -mtriple=x86_64-unknown-linux-gnu -skip-partial-inlining-cost-analysis=true %s
; RUN: opt -passes='partial-inliner,mergefunc' -mtriple=x86_64-unknown-linux-gnu -disable-partial-inlining=true %s
; RUN: opt -passes='partial-inliner,mergefunc' -mtriple=x86_64-unknown-linux-gnu -outline-region-freq-percent=3 %s
; RUN: opt -passes='partial-inliner,mergefunc' -mtriple=x86_64-unknown-linux-gnu -mergefunc-preserve-debug-info=true -max-num-inline-blocks=0 -disable-partial-inlining=true %s
; RUN: opt -passes=attributor -mtriple=x86_64-unknown-linux-gnu -dom-conditions-max-uses=3 %s
; RUN: opt -passes=attributor -mtriple=x86_64-unknown-linux-gnu -attributor-max-potential-values-iterations=0 %s
; RUN: opt -passes=attributor -mtriple=x86_64-unknown-linux-gnu -attributor-assume-closed-world=true %s
; RUN: opt -passes=attributor -mtriple=x86_64-unknown-linux-gnu -attributor-annotate-decl-cs=true %s
; RUN: opt -passes=attributor -mtriple=x86_64-unknown-linux-gnu -attributor-max-specializations-per-call-base=1 %s
; RUN: opt -passes=attributor -mtriple=x86_64-unknown-linux-gnu -attributor-assume-closed-world=true -dom-conditions-max-uses=3 -attributor-annotate-decl-cs=true %s
; RUN: opt -passes='function(gvn-hoist,separate-const-offset-from-gep)' -mtriple=x86_64-unknown-linux-gnu -disable-separate-const-offset-from-gep=true %s
; RUN: opt -passes='function(gvn-hoist,separate-const-offset-from-gep)' -mtriple=x86_64-unknown-linux-gnu -insert-const=true %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -x86-asm-syntax=intel %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -x86-speculative-load-hardening=true %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -elide-all-zero-branch-weights=false %s

@table = internal constant [2 x ptr] [ptr @small, ptr @large]
@counter = internal global i32 0
%pair = type { i64, i64 }

declare void @external(ptr)
declare i32 @printf(ptr, ...)
declare void @abort() noreturn
declare double @pow(double, double)
declare ptr @malloc(i64)
declare void @free(ptr)

define internal i32 @small(i32 %x) {
  %y = add i32 %x, 7
  ret i32 %y
}

define internal i32 @large(i32 %x) {
  %space = alloca [64 x i8]
  call void @external(ptr %space)
  %a = mul i32 %x, %x
  %b = xor i32 %a, 123
  %c = lshr i32 %b, 3
  %d = mul i32 %c, %a
  %e = sub i32 %d, %x
  %f = or i32 %e, 64
  %g = urem i32 %f, 1001
  %h = add i32 %g, %c
  call void @external(ptr %space)
  ret i32 %h
}

define i32 @cold_path(i32 %x) cold {
  %a = call i32 @large(i32 %x)
  %b = call i32 @small(i32 %a)
  ret i32 %b
}

define internal i32 @unused_argument(i32 %x, i32 %unused, ptr %by) noinline {
  %y = load i32, ptr %by
  %z = add i32 %x, %y
  %w = mul i32 %z, %z
  ret i32 %w
}

define i32 @caller(i32 %a, i32 %b, ptr %p) {
  %1 = call i32 @small(i32 %a)
  %2 = call i32 @large(i32 %b)
  %3 = call i32 @cold_path(i32 %1)
  %4 = call i32 @unused_argument(i32 %2, i32 5, ptr %p)
  %5 = xor i32 %3, %4
  ret i32 %5
}

define i32 @caller_twice(i32 %a, i32 %b, ptr %p) {
  %1 = call i32 @large(i32 %a)
  %2 = call i32 @large(i32 %1)
  %3 = call i32 @unused_argument(i32 %2, i32 6, ptr %p)
  ret i32 %3
}

define i32 @indirect(i32 %which, i32 %x) {
  %at = getelementptr [2 x ptr], ptr @table, i32 0, i32 %which
  %function = load ptr, ptr %at
  %y = call i32 %function(i32 %x)
  ret i32 %y
}

define internal i32 @apply(ptr %function, i32 %x, i32 %how) noinline {
entry:
  %direct = icmp eq i32 %how, 1
  br i1 %direct, label %once, label %twice
once:
  %a = call i32 %function(i32 %x)
  ret i32 %a
twice:
  %b = call i32 %function(i32 %x)
  %c = call i32 %function(i32 %b)
  ret i32 %c
}

define i32 @specialise(i32 %x) {
  %a = call i32 @apply(ptr @small, i32 %x, i32 1)
  %b = call i32 @apply(ptr @large, i32 %a, i32 2)
  ret i32 %b
}

define i32 @partial(ptr %p, i32 %x) {
entry:
  %null = icmp eq ptr %p, null
  br i1 %null, label %early, label %work
early:
  ret i32 0
work:
  call void @external(ptr %p)
  %a = load i32, ptr %p
  %b = mul i32 %a, %x
  call void @external(ptr %p)
  %c = load i32, ptr %p
  %d = sdiv i32 %b, %c
  call void @external(ptr %p)
  ret i32 %d
}

define i32 @uses_partial(ptr %p, i32 %x) {
  %a = call i32 @partial(ptr %p, i32 %x)
  %b = call i32 @partial(ptr %p, i32 %a)
  ret i32 %b
}

define i32 @fibonacci(i32 %n) {
entry:
  %base = icmp slt i32 %n, 2
  br i1 %base, label %done, label %recurse
recurse:
  %a = sub i32 %n, 1
  %b = call i32 @fibonacci(i32 %a)
  %c = sub i32 %n, 2
  %d = call i32 @fibonacci(i32 %c)
  %e = add i32 %b, %d
  ret i32 %e
done:
  ret i32 %n
}

define i32 @same_1(i32 %x, ptr %p) {
  %a = mul i32 %x, 13
  %b = add i32 %a, 5
  store i32 %b, ptr %p
  %c = call i32 @fibonacci(i32 %b)
  %d = xor i32 %c, %a
  ret i32 %d
}

define i32 @same_2(i32 %x, ptr %p) {
  %a = mul i32 %x, 13
  %b = add i32 %a, 5
  store i32 %b, ptr %p
  %c = call i32 @fibonacci(i32 %b)
  %d = xor i32 %c, %a
  ret i32 %d
}

define %pair @returns_pair(i64 %a, i64 %b) {
  %1 = insertvalue %pair undef, i64 %b, 0
  %2 = insertvalue %pair %1, i64 %a, 1
  ret %pair %2
}

define void @returns_in_memory(ptr sret([5 x i64]) %out, i64 %a) {
  store i64 %a, ptr %out
  %last = getelementptr [5 x i64], ptr %out, i64 0, i64 4
  store i64 7, ptr %last
  ret void
}

define i64 @by_value(ptr byval([5 x i64]) %in, i64 %x) {
  %space = alloca [5 x i64]
  call void @returns_in_memory(ptr sret([5 x i64]) %space, i64 %x)
  %a = load i64, ptr %in
  %b = load i64, ptr %space
  %c = add i64 %a, %b
  ret i64 %c
}

define i32 @tail(i32 %x) {
  %a = add i32 %x, 1
  %b = tail call i32 @cold_path(i32 %a)
  ret i32 %b
}

define double @library(double %x) {
  %a = call fast double @pow(double %x, double 4.0)
  %b = call double @pow(double %a, double 0.5)
  ret double %b
}

define i32 @heap() {
  %p = call ptr @malloc(i64 4)
  store i32 3, ptr %p
  %a = load i32, ptr %p
  call void @free(ptr %p)
  ret i32 %a
}

define void @count(i1 %stop) {
entry:
  %a = load i32, ptr @counter
  %b = add i32 %a, 1
  store i32 %b, ptr @counter
  br i1 %stop, label %end, label %done
end:
  call void @abort()
  unreachable
done:
  ret void
}
