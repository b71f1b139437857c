; Branches, selects and switches: threaded, folded, speculated, lowered to tables, tests and trees.
; RUN: opt -passes='default<O2>' -mtriple=x86_64-unknown-linux-gnu -enable-gvn-hoist=true %s
; RUN: opt -passes='default<O2>' -mtriple=x86_64-unknown-linux-gnu -enable-dfa-jump-thread=true %s
; RUN: opt -passes='default<O2>' -mtriple=x86_64-unknown-linux-gnu -sink-common-insts=true %s
; RUN: opt -passes='default<O2>' -mtriple=x86_64-unknown-linux-gnu -simplifycfg-sink-common=false %s
; RUN: opt -passes='default<O2>' -mtriple=x86_64-unknown-linux-gnu -simplifycfg-sink-common=false -enable-dfa-jump-thread=true -enable-gvn-hoist=true %s
; RUN: opt -passes='function(simplifycfg<bonus-inst-threshold=3;switch-to-lookup;sink-common-insts;hoist-common-insts>,jump-threading,dfa-jump-threading)' -mtriple=x86_64-unknown-linux-gnu -predictable-branch-threshold=0 %s
; RUN: opt -passes='function(simplifycfg<bonus-inst-threshold=3;switch-to-lookup;sink-common-insts;hoist-common-insts>,jump-threading,dfa-jump-threading)' -mtriple=x86_64-unknown-linux-gnu -jump-threading-across-loop-headers=true %s
; RUN: opt -passes='function(simplifycfg<bonus-inst-threshold=3;switch-to-lookup;sink-common-insts;hoist-common-insts>,jump-threading,dfa-jump-threading)' -mtriple=x86_64-unknown-linux-gnu -devirtualize-speculatively=true %s
; RUN: opt -passes='function(consthoist,speculative-execution,lower-switch)' -mtriple=x86_64-unknown-linux-gnu -x86-align-branch-boundary=3 %s
; RUN: opt -passes='function(consthoist,speculative-execution,lower-switch)' -mtriple=x86_64-unknown-linux-gnu -inline-size-allowance=3 %s
; RUN: opt -passes='function(consthoist,speculative-execution,lower-switch)' -mtriple=x86_64-unknown-linux-gnu -msan-poison-undef-vectors=true %s
; RUN: opt -passes='function(consthoist,speculative-execution,lower-switch)' -mtriple=x86_64-unknown-linux-gnu -cdsort-distance-power=3 %s
; RUN: opt -passes='function(consthoist,speculative-execution,lower-switch)' -mtriple=x86_64-unknown-linux-gnu -dom-tree-reachability-max-bbs-to-explore=1000 %s
; RUN: opt -passes='function(consthoist,speculative-execution,lower-switch)' -mtriple=x86_64-unknown-linux-gnu -propeller-infer-threshold=3 %s
; RUN: opt -passes='hotcoldsplit,function(chr)' -mtriple=x86_64-unknown-linux-gnu -hotcoldsplit-threshold=0 %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -x86-early-ifcvt=true %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -disable-cgp=true %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -stress-regalloc=3 %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -disable-machine-sink=true %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -misched-cutoff=0 %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -tail-dup-size=0 %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -emit-jump-table-sizes-section=true %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -tail-dup-placement-threshold=3 %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -max-jump-table-size=3 %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -combiner-disabled=true %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -misched-only-func=x %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -disable-block-placement=true %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -split-threshold-for-reg-with-hint=0 %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -static-likely-prob=0 %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -misched-only-func=x -max-jump-table-size=3 -disable-block-placement=true %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -disable-mips-delay-filler=true %s
; RUN: llc -mtriple=aarch64-unknown-linux-gnu -aarch64-bcc-offset-bits=3 %s
; RUN: llc -mtriple=aarch64-unknown-linux-gnu -aarch64-enable-copyelim=false %s
; RUN: llc -mtriple=aarch64-unknown-linux-gnu -aarch64-stress-ccmp=true %s
; RUN: llc -mtriple=aarch64-unknown-linux-gnu -O0 -aarch64-cbz-offset-bits=3 %s
; RUN: llc -mtriple=aarch64-unknown-linux-gnu -O0 -aarch64-min-jump-table-entries=1 %s
; RUN: llc -mtriple=aarch64-unknown-linux-gnu -O0 -aarch64-tbz-offset-bits=3 %s
; RUN: llc -mtriple=aarch64-unknown-linux-gnu -O0 -aarch64-enable-branch-targets=false %s
; RUN: llc -mtriple=powerpc64le-unknown-linux-gnu -min-jump-table-entries=20 %s
; RUN: llc -mtriple=hexagon-unknown-linux -hexagon-emit-jump-tables=0 %s
; RUN: llc -mtriple=mips-unknown-linux-gnu -disable-mips-delay-filler %s
; RUN: llc -mtriple=mips-unknown-linux-gnu -mips-compact-branches=never -enable-tail-merge=false %s
; RUN: llc -mtriple=sparcv9-unknown-linux-gnu -disable-sparc-delay-filler %s
; RUN: llc -mtriple=wasm32-unknown-unknown -wasm-disable-explicit-locals -disable-cgp %s
; RUN: llc -mtriple=s390x-unknown-linux-gnu -disable-branch-fold -min-jump-table-entries=30 %s

declare void @f(i32)
declare i32 @g(i32) readonly

define i32 @table(i32 %x) {
entry:
  switch i32 %x, label %other [
    i32 0, label %a
    i32 1, label %b
    i32 2, label %c
    i32 3, label %d
    i32 4, label %e
    i32 5, label %f
  ]
a:
  br label %done
b:
  br label %done
c:
  br label %done
d:
  br label %done
e:
  br label %done
f:
  br label %done
other:
  br label %done
done:
  %value = phi i32 [ 55, %a ], [ 123, %b ], [ 0, %c ], [ -1, %d ], [ 27, %e ], [ 62, %f ], [ 15, %other ]
  ret i32 %value
}

define void @jump_table(i32 %x, i32 %y) {
entry:
  switch i32 %x, label %other [
    i32 0, label %a
    i32 1, label %b
    i32 2, label %c
    i32 3, label %d
    i32 4, label %a
    i32 6, label %b
    i32 9, label %c
    i32 200, label %d
  ]
a:
  call void @f(i32 1)
  br label %done
b:
  call void @f(i32 %y)
  br label %done
c:
  call void @f(i32 %x)
  br label %done
d:
  call void @f(i32 44)
  ret void
other:
  call void @f(i32 5)
  ret void
done:
  call void @f(i32 6)
  ret void
}

define i1 @bit_test(i32 %x) {
entry:
  switch i32 %x, label %no [
    i32 1, label %yes
    i32 5, label %yes
    i32 9, label %yes
    i32 17, label %yes
    i32 24, label %yes
    i32 31, label %yes
  ]
yes:
  ret i1 true
no:
  ret i1 false
}

define i32 @threaded(i1 %a, i1 %b, i32 %x) {
entry:
  br i1 %a, label %one, label %two
one:
  %p = call i32 @g(i32 %x)
  br label %meet
two:
  %q = add i32 %x, 3
  br label %meet
meet:
  %value = phi i32 [ %p, %one ], [ %q, %two ]
  %known = phi i1 [ true, %one ], [ %b, %two ]
  %r = mul i32 %value, 17
  br i1 %known, label %three, label %four
three:
  call void @f(i32 %r)
  ret i32 %r
four:
  %s = sub i32 %r, %x
  ret i32 %s
}

define i32 @speculated(i1 %c, i32 %x, i32 %y) {
entry:
  br i1 %c, label %then, label %join
then:
  %a = add i32 %x, %y
  %b = xor i32 %a, 255
  %d = shl i32 %b, 2
  br label %join
join:
  %v = phi i32 [ %x, %entry ], [ %d, %then ]
  ret i32 %v
}

define void @both_store(i1 %c, ptr %p, i32 %x) {
entry:
  br i1 %c, label %then, label %else
then:
  %a = add i32 %x, 1
  store i32 %a, ptr %p
  call void @f(i32 %a)
  br label %join
else:
  %b = add i32 %x, 2
  store i32 %b, ptr %p
  call void @f(i32 %b)
  br label %join
join:
  ret void
}

define i32 @diamond_loads(i1 %c, ptr %p) {
entry:
  br i1 %c, label %then, label %else
then:
  %a = load i32, ptr %p
  %a1 = mul i32 %a, 3
  br label %join
else:
  %b = load i32, ptr %p
  %b1 = mul i32 %b, 5
  br label %join
join:
  %v = phi i32 [ %a1, %then ], [ %b1, %else ]
  ret i32 %v
}

define i32 @and_chain(i32 %a, i32 %b, i32 %c, i32 %d) {
entry:
  %1 = icmp sgt i32 %a, %b
  br i1 %1, label %second, label %no, !prof !0
second:
  %2 = icmp slt i32 %b, %c
  br i1 %2, label %third, label %no
third:
  %3 = icmp ne i32 %c, %d
  br i1 %3, label %yes, label %no, !prof !1
yes:
  call void @f(i32 %a)
  ret i32 1
no:
  ret i32 0
}

define i32 @selects(i32 %a, i32 %b, ptr %p) {
  %1 = icmp sgt i32 %a, %b
  %2 = select i1 %1, i32 %a, i32 %b, !prof !0
  %3 = load i32, ptr %p
  %4 = sdiv i32 %3, %2
  %5 = icmp eq i32 %4, 0
  %6 = select i1 %5, i32 %3, i32 %4, !prof !1
  %7 = select i1 %1, i32 %6, i32 12
  ret i32 %7
}

define i32 @state_machine(ptr %in, i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %latch ]
  %state = phi i32 [ 1, %entry ], [ %state.next, %latch ]
  switch i32 %state, label %fail [
    i32 1, label %s1
    i32 2, label %s2
    i32 3, label %s3
  ]
s1:
  %at = getelementptr i32, ptr %in, i32 %i
  %x = load i32, ptr %at
  %zero = icmp eq i32 %x, 0
  %to2 = select i1 %zero, i32 2, i32 3
  br label %latch
s2:
  call void @f(i32 2)
  br label %latch
s3:
  call void @f(i32 3)
  br label %latch
latch:
  %state.next = phi i32 [ %to2, %s1 ], [ 3, %s2 ], [ 1, %s3 ]
  %next = add nuw nsw i32 %i, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret i32 %state.next
fail:
  ret i32 -1
}

define i32 @guarded_division(i32 %a, i32 %b) {
entry:
  %zero = icmp eq i32 %b, 0
  br i1 %zero, label %done, label %divide
divide:
  %q = sdiv i32 %a, %b
  %r = srem i32 %a, %b
  %s = add i32 %q, %r
  br label %done
done:
  %v = phi i32 [ 0, %entry ], [ %s, %divide ]
  ret i32 %v
}

define i64 @wide_division(i64 %a, i64 %b) {
  %q = udiv i64 %a, %b
  %c = udiv i64 %q, 1000
  ret i64 %c
}

!0 = !{!"branch_weights", i32 2000, i32 1}
!1 = !{!"branch_weights", i32 1, i32 3000}
