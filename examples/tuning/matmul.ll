; ModuleID = 'matmul.c'
source_filename = "matmul.c"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

; Function Attrs: nounwind
define dso_local void @matmul(ptr noalias noundef %0, ptr noalias noundef %1, ptr noalias noundef %2, i64 noundef %3) #0 {
  %5 = alloca ptr, align 8
  %6 = alloca ptr, align 8
  %7 = alloca ptr, align 8
  %8 = alloca i64, align 8
  %9 = alloca i64, align 8
  %10 = alloca i32, align 4
  %11 = alloca i64, align 8
  %12 = alloca float, align 4
  %13 = alloca i64, align 8
  store ptr %0, ptr %5, align 8, !tbaa !3
  store ptr %1, ptr %6, align 8, !tbaa !3
  store ptr %2, ptr %7, align 8, !tbaa !3
  store i64 %3, ptr %8, align 8, !tbaa !7
  call void @llvm.lifetime.start.p0(i64 8, ptr %9) #3
  store i64 0, ptr %9, align 8, !tbaa !7
  br label %14

14:                                               ; preds = %66, %4
  %15 = load i64, ptr %9, align 8, !tbaa !7
  %16 = load i64, ptr %8, align 8, !tbaa !7
  %17 = icmp ult i64 %15, %16
  br i1 %17, label %19, label %18

18:                                               ; preds = %14
  store i32 2, ptr %10, align 4
  call void @llvm.lifetime.end.p0(i64 8, ptr %9) #3
  br label %69

19:                                               ; preds = %14
  call void @llvm.lifetime.start.p0(i64 8, ptr %11) #3
  store i64 0, ptr %11, align 8, !tbaa !7
  br label %20

20:                                               ; preds = %62, %19
  %21 = load i64, ptr %11, align 8, !tbaa !7
  %22 = load i64, ptr %8, align 8, !tbaa !7
  %23 = icmp ult i64 %21, %22
  br i1 %23, label %25, label %24

24:                                               ; preds = %20
  store i32 5, ptr %10, align 4
  call void @llvm.lifetime.end.p0(i64 8, ptr %11) #3
  br label %65

25:                                               ; preds = %20
  call void @llvm.lifetime.start.p0(i64 4, ptr %12) #3
  store float 0.000000e+00, ptr %12, align 4, !tbaa !9
  call void @llvm.lifetime.start.p0(i64 8, ptr %13) #3
  store i64 0, ptr %13, align 8, !tbaa !7
  br label %26

26:                                               ; preds = %50, %25
  %27 = load i64, ptr %13, align 8, !tbaa !7
  %28 = load i64, ptr %8, align 8, !tbaa !7
  %29 = icmp ult i64 %27, %28
  br i1 %29, label %31, label %30

30:                                               ; preds = %26
  store i32 8, ptr %10, align 4
  call void @llvm.lifetime.end.p0(i64 8, ptr %13) #3
  br label %53

31:                                               ; preds = %26
  %32 = load ptr, ptr %6, align 8, !tbaa !3
  %33 = load i64, ptr %9, align 8, !tbaa !7
  %34 = load i64, ptr %8, align 8, !tbaa !7
  %35 = mul i64 %33, %34
  %36 = load i64, ptr %13, align 8, !tbaa !7
  %37 = add i64 %35, %36
  %38 = getelementptr inbounds float, ptr %32, i64 %37
  %39 = load float, ptr %38, align 4, !tbaa !9
  %40 = load ptr, ptr %7, align 8, !tbaa !3
  %41 = load i64, ptr %11, align 8, !tbaa !7
  %42 = load i64, ptr %8, align 8, !tbaa !7
  %43 = mul i64 %41, %42
  %44 = load i64, ptr %13, align 8, !tbaa !7
  %45 = add i64 %43, %44
  %46 = getelementptr inbounds float, ptr %40, i64 %45
  %47 = load float, ptr %46, align 4, !tbaa !9
  %48 = load float, ptr %12, align 4, !tbaa !9
  %49 = call reassoc float @llvm.fmuladd.f32(float %39, float %47, float %48)
  store float %49, ptr %12, align 4, !tbaa !9
  br label %50

50:                                               ; preds = %31
  %51 = load i64, ptr %13, align 8, !tbaa !7
  %52 = add i64 %51, 1
  store i64 %52, ptr %13, align 8, !tbaa !7
  br label %26, !llvm.loop !11

53:                                               ; preds = %30
  %54 = load float, ptr %12, align 4, !tbaa !9
  %55 = load ptr, ptr %5, align 8, !tbaa !3
  %56 = load i64, ptr %9, align 8, !tbaa !7
  %57 = load i64, ptr %8, align 8, !tbaa !7
  %58 = mul i64 %56, %57
  %59 = load i64, ptr %11, align 8, !tbaa !7
  %60 = add i64 %58, %59
  %61 = getelementptr inbounds float, ptr %55, i64 %60
  store float %54, ptr %61, align 4, !tbaa !9
  call void @llvm.lifetime.end.p0(i64 4, ptr %12) #3
  br label %62

62:                                               ; preds = %53
  %63 = load i64, ptr %11, align 8, !tbaa !7
  %64 = add i64 %63, 1
  store i64 %64, ptr %11, align 8, !tbaa !7
  br label %20, !llvm.loop !13

65:                                               ; preds = %24
  br label %66

66:                                               ; preds = %65
  %67 = load i64, ptr %9, align 8, !tbaa !7
  %68 = add i64 %67, 1
  store i64 %68, ptr %9, align 8, !tbaa !7
  br label %14, !llvm.loop !14

69:                                               ; preds = %18
  ret void
}

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.start.p0(i64 immarg, ptr nocapture) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.fmuladd.f32(float, float, float) #2

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.end.p0(i64 immarg, ptr nocapture) #1

attributes #0 = { nounwind "min-legal-vector-width"="0" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="x86-64" "target-features"="+cmov,+cx8,+fxsr,+mmx,+sse,+sse2,+x87" "tune-cpu"="generic" }
attributes #1 = { nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #2 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #3 = { nounwind }

!llvm.module.flags = !{!0, !1, !2}

!0 = !{i32 1, !"wchar_size", i32 4}
!1 = !{i32 8, !"PIC Level", i32 2}
!2 = !{i32 7, !"PIE Level", i32 2}
!3 = !{!4, !4, i64 0}
!4 = !{!"any pointer", !5, i64 0}
!5 = !{!"omnipotent char", !6, i64 0}
!6 = !{!"Simple C/C++ TBAA"}
!7 = !{!8, !8, i64 0}
!8 = !{!"long", !5, i64 0}
!9 = !{!10, !10, i64 0}
!10 = !{!"float", !5, i64 0}
!11 = distinct !{!11, !12}
!12 = !{!"llvm.loop.mustprogress"}
!13 = distinct !{!13, !12}
!14 = distinct !{!14, !12}
