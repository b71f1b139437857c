; ModuleID = 'hash.c'
source_filename = "hash.c"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

; Function Attrs: nounwind
define dso_local i32 @hash(ptr noalias noundef %0, i32 noundef %1) #0 {
  %3 = alloca ptr, align 8
  %4 = alloca i32, align 4
  %5 = alloca i32, align 4
  %6 = alloca i64, align 8
  %7 = alloca i32, align 4
  %8 = alloca i32, align 4
  %9 = alloca i64, align 8
  store ptr %0, ptr %3, align 8, !tbaa !3
  store i32 %1, ptr %4, align 4, !tbaa !7
  call void @llvm.lifetime.start.p0(i64 4, ptr %5) #2
  store i32 0, ptr %5, align 4, !tbaa !7
  call void @llvm.lifetime.start.p0(i64 8, ptr %6) #2
  store i64 0, ptr %6, align 8, !tbaa !9
  br label %10

10:                                               ; preds = %38, %2
  %11 = load i64, ptr %6, align 8, !tbaa !9
  %12 = icmp ult i64 %11, 1024
  br i1 %12, label %14, label %13

13:                                               ; preds = %10
  store i32 2, ptr %7, align 4
  call void @llvm.lifetime.end.p0(i64 8, ptr %6) #2
  br label %41

14:                                               ; preds = %10
  call void @llvm.lifetime.start.p0(i64 4, ptr %8) #2
  %15 = load i32, ptr %4, align 4, !tbaa !7
  store i32 %15, ptr %8, align 4, !tbaa !7
  call void @llvm.lifetime.start.p0(i64 8, ptr %9) #2
  store i64 0, ptr %9, align 8, !tbaa !9
  br label %16

16:                                               ; preds = %30, %14
  %17 = load i64, ptr %9, align 8, !tbaa !9
  %18 = icmp ult i64 %17, 8
  br i1 %18, label %20, label %19

19:                                               ; preds = %16
  store i32 5, ptr %7, align 4
  call void @llvm.lifetime.end.p0(i64 8, ptr %9) #2
  br label %33

20:                                               ; preds = %16
  %21 = load i32, ptr %8, align 4, !tbaa !7
  %22 = load ptr, ptr %3, align 8, !tbaa !3
  %23 = load i64, ptr %6, align 8, !tbaa !9
  %24 = mul i64 %23, 8
  %25 = load i64, ptr %9, align 8, !tbaa !9
  %26 = add i64 %24, %25
  %27 = getelementptr inbounds i32, ptr %22, i64 %26
  %28 = load i32, ptr %27, align 4, !tbaa !7
  %29 = call i32 @mix(i32 noundef %21, i32 noundef %28)
  store i32 %29, ptr %8, align 4, !tbaa !7
  br label %30

30:                                               ; preds = %20
  %31 = load i64, ptr %9, align 8, !tbaa !9
  %32 = add i64 %31, 1
  store i64 %32, ptr %9, align 8, !tbaa !9
  br label %16, !llvm.loop !11

33:                                               ; preds = %19
  %34 = load i32, ptr %8, align 4, !tbaa !7
  %35 = call i32 @finish(i32 noundef %34)
  %36 = load i32, ptr %5, align 4, !tbaa !7
  %37 = add i32 %36, %35
  store i32 %37, ptr %5, align 4, !tbaa !7
  call void @llvm.lifetime.end.p0(i64 4, ptr %8) #2
  br label %38

38:                                               ; preds = %33
  %39 = load i64, ptr %6, align 8, !tbaa !9
  %40 = add i64 %39, 1
  store i64 %40, ptr %6, align 8, !tbaa !9
  br label %10, !llvm.loop !13

41:                                               ; preds = %13
  %42 = load i32, ptr %5, align 4, !tbaa !7
  store i32 1, ptr %7, align 4
  call void @llvm.lifetime.end.p0(i64 4, ptr %5) #2
  ret i32 %42
}

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.start.p0(i64 immarg, ptr nocapture) #1

; Function Attrs: nounwind
define internal i32 @mix(i32 noundef %0, i32 noundef %1) #0 {
  %3 = alloca i32, align 4
  %4 = alloca i32, align 4
  store i32 %0, ptr %3, align 4, !tbaa !7
  store i32 %1, ptr %4, align 4, !tbaa !7
  %5 = load i32, ptr %4, align 4, !tbaa !7
  %6 = mul i32 %5, -862048943
  store i32 %6, ptr %4, align 4, !tbaa !7
  %7 = load i32, ptr %4, align 4, !tbaa !7
  %8 = shl i32 %7, 15
  %9 = load i32, ptr %4, align 4, !tbaa !7
  %10 = lshr i32 %9, 17
  %11 = or i32 %8, %10
  store i32 %11, ptr %4, align 4, !tbaa !7
  %12 = load i32, ptr %4, align 4, !tbaa !7
  %13 = mul i32 %12, 461845907
  store i32 %13, ptr %4, align 4, !tbaa !7
  %14 = load i32, ptr %4, align 4, !tbaa !7
  %15 = load i32, ptr %3, align 4, !tbaa !7
  %16 = xor i32 %15, %14
  store i32 %16, ptr %3, align 4, !tbaa !7
  %17 = load i32, ptr %3, align 4, !tbaa !7
  %18 = shl i32 %17, 13
  %19 = load i32, ptr %3, align 4, !tbaa !7
  %20 = lshr i32 %19, 19
  %21 = or i32 %18, %20
  store i32 %21, ptr %3, align 4, !tbaa !7
  %22 = load i32, ptr %3, align 4, !tbaa !7
  %23 = mul i32 %22, 5
  %24 = add i32 %23, -430675100
  ret i32 %24
}

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.end.p0(i64 immarg, ptr nocapture) #1

; Function Attrs: nounwind
define internal i32 @finish(i32 noundef %0) #0 {
  %2 = alloca i32, align 4
  store i32 %0, ptr %2, align 4, !tbaa !7
  %3 = load i32, ptr %2, align 4, !tbaa !7
  %4 = lshr i32 %3, 16
  %5 = load i32, ptr %2, align 4, !tbaa !7
  %6 = xor i32 %5, %4
  store i32 %6, ptr %2, align 4, !tbaa !7
  %7 = load i32, ptr %2, align 4, !tbaa !7
  %8 = mul i32 %7, -2048144789
  store i32 %8, ptr %2, align 4, !tbaa !7
  %9 = load i32, ptr %2, align 4, !tbaa !7
  %10 = lshr i32 %9, 13
  %11 = load i32, ptr %2, align 4, !tbaa !7
  %12 = xor i32 %11, %10
  store i32 %12, ptr %2, align 4, !tbaa !7
  %13 = load i32, ptr %2, align 4, !tbaa !7
  %14 = mul i32 %13, -1028477387
  store i32 %14, ptr %2, align 4, !tbaa !7
  %15 = load i32, ptr %2, align 4, !tbaa !7
  %16 = load i32, ptr %2, align 4, !tbaa !7
  %17 = lshr i32 %16, 16
  %18 = xor i32 %15, %17
  ret i32 %18
}

attributes #0 = { nounwind "min-legal-vector-width"="0" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="x86-64" "target-features"="+cmov,+cx8,+fxsr,+mmx,+sse,+sse2,+x87" "tune-cpu"="generic" }
attributes #1 = { nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #2 = { nounwind }

!llvm.module.flags = !{!0, !1, !2}

!0 = !{i32 1, !"wchar_size", i32 4}
!1 = !{i32 8, !"PIC Level", i32 2}
!2 = !{i32 7, !"PIE Level", i32 2}
!3 = !{!4, !4, i64 0}
!4 = !{!"any pointer", !5, i64 0}
!5 = !{!"omnipotent char", !6, i64 0}
!6 = !{!"Simple C/C++ TBAA"}
!7 = !{!8, !8, i64 0}
!8 = !{!"int", !5, i64 0}
!9 = !{!10, !10, i64 0}
!10 = !{!"long", !5, i64 0}
!11 = distinct !{!11, !12}
!12 = !{!"llvm.loop.mustprogress"}
!13 = distinct !{!13, !12}
