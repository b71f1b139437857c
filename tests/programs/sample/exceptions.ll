; Unwinding: invokes, clean-ups, catches, and frames that have to be described.
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -x86-machine-combiner=false %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -trap-unreachable=true %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -use-leb128-directives=false %s

@type = external constant ptr

declare void @throws(i32)
declare void @clean(ptr)
declare i32 @__gxx_personality_v0(...)
declare ptr @__cxa_begin_catch(ptr)
declare void @__cxa_end_catch()
declare i32 @llvm.eh.typeid.for.p0(ptr)

define i32 @catches(i32 %x) personality ptr @__gxx_personality_v0 {
entry:
  %local = alloca [100 x i8]
  invoke void @throws(i32 %x) to label %well unwind label %pad
well:
  invoke void @throws(i32 2) to label %done unwind label %pad2
pad:
  %caught = landingpad { ptr, i32 } cleanup catch ptr @type
  call void @clean(ptr %local)
  %which = extractvalue { ptr, i32 } %caught, 1
  %id = call i32 @llvm.eh.typeid.for.p0(ptr @type)
  %mine = icmp eq i32 %which, %id
  br i1 %mine, label %handle, label %further
handle:
  %object = extractvalue { ptr, i32 } %caught, 0
  %began = call ptr @__cxa_begin_catch(ptr %object)
  call void @__cxa_end_catch()
  ret i32 1
further:
  resume { ptr, i32 } %caught
pad2:
  %second = landingpad { ptr, i32 } cleanup
  call void @clean(ptr %local)
  resume { ptr, i32 } %second
done:
  ret i32 0
}

define i32 @saves(i32 %a, i32 %b, i32 %c, i32 %d, i32 %e, i32 %f, i32 %g, i32 %h, i32 %i) uwtable {
  call void @throws(i32 %a)
  %1 = add i32 %a, %b
  %2 = mul i32 %1, %c
  call void @throws(i32 %2)
  %3 = sub i32 %d, %e
  %4 = xor i32 %f, %g
  %5 = add i32 %h, %i
  call void @throws(i32 %3)
  %6 = add i32 %2, %3
  %7 = mul i32 %4, %5
  call void @throws(i32 %7)
  %8 = add i32 %6, %7
  %9 = add i32 %8, %4
  %10 = add i32 %9, %a
  %11 = mul i32 %10, %b
  ret i32 %11
}
