; ModuleID = 'stencil.c'
source_filename = "stencil.c"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

; Function Attrs: nounwind
define dso_local void @stencil(ptr noalias noundef %0, ptr noalias noundef %1, float noundef %2) #0 {
  %4 = alloca ptr, align 8
  %5 = alloca ptr, align 8
  %6 = alloca float, align 4
  %7 = alloca i32, align 4
  store ptr %0, ptr %4, align 8, !tbaa !3
  store ptr %1, ptr %5, align 8, !tbaa !3
  store float %2, ptr %6, align 4, !tbaa !7
  call void @llvm.lifetime.start.p0(i64 4, ptr %7) #3
  store i32 0, ptr %7, align 4, !tbaa !9
  br label %8

8:                                                ; preds = %19, %3
  %9 = load i32, ptr %7, align 4, !tbaa !9
  %10 = icmp slt i32 %9, 4
  br i1 %10, label %12, label %11

11:                                               ; preds = %8
  call void @llvm.lifetime.end.p0(i64 4, ptr %7) #3
  br label %22

12:                                               ; preds = %8
  %13 = load ptr, ptr %5, align 8, !tbaa !3
  %14 = load ptr, ptr %4, align 8, !tbaa !3
  %15 = load float, ptr %6, align 4, !tbaa !7
  call void @step(ptr noundef %13, ptr noundef %14, float noundef %15)
  %16 = load ptr, ptr %4, align 8, !tbaa !3
  %17 = load ptr, ptr %5, align 8, !tbaa !3
  %18 = load float, ptr %6, align 4, !tbaa !7
  call void @step(ptr noundef %16, ptr noundef %17, float noundef %18)
  br label %19

19:                                               ; preds = %12
  %20 = load i32, ptr %7, align 4, !tbaa !9
  %21 = add nsw i32 %20, 2
  store i32 %21, ptr %7, align 4, !tbaa !9
  br label %8, !llvm.loop !11

22:                                               ; preds = %11
  ret void
}

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.start.p0(i64 immarg, ptr nocapture) #1

; Function Attrs: nounwind
define internal void @step(ptr noalias noundef %0, ptr noalias noundef %1, float noundef %2) #0 {
  %4 = alloca ptr, align 8
  %5 = alloca ptr, align 8
  %6 = alloca float, align 4
  %7 = alloca i64, align 8
  %8 = alloca i32, align 4
  %9 = alloca i64, align 8
  %10 = alloca ptr, align 8
  %11 = alloca float, align 4
  store ptr %0, ptr %4, align 8, !tbaa !3
  store ptr %1, ptr %5, align 8, !tbaa !3
  store float %2, ptr %6, align 4, !tbaa !7
  call void @llvm.lifetime.start.p0(i64 8, ptr %7) #3
  store i64 1, ptr %7, align 8, !tbaa !13
  br label %12

12:                                               ; preds = %79, %3
  %13 = load i64, ptr %7, align 8, !tbaa !13
  %14 = icmp ult i64 %13, 31
  br i1 %14, label %16, label %15

15:                                               ; preds = %12
  store i32 2, ptr %8, align 4
  call void @llvm.lifetime.end.p0(i64 8, ptr %7) #3
  br label %82

16:                                               ; preds = %12
  call void @llvm.lifetime.start.p0(i64 8, ptr %9) #3
  store i64 1, ptr %9, align 8, !tbaa !13
  br label %17

17:                                               ; preds = %75, %16
  %18 = load i64, ptr %9, align 8, !tbaa !13
  %19 = icmp ult i64 %18, 127
  br i1 %19, label %21, label %20

20:                                               ; preds = %17
  store i32 5, ptr %8, align 4
  call void @llvm.lifetime.end.p0(i64 8, ptr %9) #3
  br label %78

21:                                               ; preds = %17
  call void @llvm.lifetime.start.p0(i64 8, ptr %10) #3
  %22 = load ptr, ptr %5, align 8, !tbaa !3
  %23 = load i64, ptr %7, align 8, !tbaa !13
  %24 = mul i64 %23, 128
  %25 = load i64, ptr %9, align 8, !tbaa !13
  %26 = add i64 %24, %25
  %27 = getelementptr inbounds float, ptr %22, i64 %26
  store ptr %27, ptr %10, align 8, !tbaa !3
  call void @llvm.lifetime.start.p0(i64 4, ptr %11) #3
  %28 = load ptr, ptr %10, align 8, !tbaa !3
  %29 = getelementptr inbounds float, ptr %28, i64 0
  %30 = load float, ptr %29, align 4, !tbaa !7
  %31 = load ptr, ptr %10, align 8, !tbaa !3
  %32 = getelementptr inbounds float, ptr %31, i64 -128
  %33 = load float, ptr %32, align 4, !tbaa !7
  %34 = load float, ptr %6, align 4, !tbaa !7
  %35 = call float @conduct(float noundef %30, float noundef %33, float noundef %34)
  %36 = load ptr, ptr %10, align 8, !tbaa !3
  %37 = getelementptr inbounds float, ptr %36, i64 0
  %38 = load float, ptr %37, align 4, !tbaa !7
  %39 = load ptr, ptr %10, align 8, !tbaa !3
  %40 = getelementptr inbounds float, ptr %39, i64 128
  %41 = load float, ptr %40, align 4, !tbaa !7
  %42 = load float, ptr %6, align 4, !tbaa !7
  %43 = call float @conduct(float noundef %38, float noundef %41, float noundef %42)
  %44 = fadd float %35, %43
  store float %44, ptr %11, align 4, !tbaa !7
  %45 = load ptr, ptr %10, align 8, !tbaa !3
  %46 = getelementptr inbounds float, ptr %45, i64 0
  %47 = load float, ptr %46, align 4, !tbaa !7
  %48 = load ptr, ptr %10, align 8, !tbaa !3
  %49 = getelementptr inbounds float, ptr %48, i64 -1
  %50 = load float, ptr %49, align 4, !tbaa !7
  %51 = load float, ptr %6, align 4, !tbaa !7
  %52 = call float @conduct(float noundef %47, float noundef %50, float noundef %51)
  %53 = load ptr, ptr %10, align 8, !tbaa !3
  %54 = getelementptr inbounds float, ptr %53, i64 0
  %55 = load float, ptr %54, align 4, !tbaa !7
  %56 = load ptr, ptr %10, align 8, !tbaa !3
  %57 = getelementptr inbounds float, ptr %56, i64 1
  %58 = load float, ptr %57, align 4, !tbaa !7
  %59 = load float, ptr %6, align 4, !tbaa !7
  %60 = call float @conduct(float noundef %55, float noundef %58, float noundef %59)
  %61 = fadd float %52, %60
  %62 = load float, ptr %11, align 4, !tbaa !7
  %63 = fadd float %62, %61
  store float %63, ptr %11, align 4, !tbaa !7
  %64 = load ptr, ptr %10, align 8, !tbaa !3
  %65 = getelementptr inbounds float, ptr %64, i64 0
  %66 = load float, ptr %65, align 4, !tbaa !7
  %67 = load float, ptr %11, align 4, !tbaa !7
  %68 = fadd float %66, %67
  %69 = load ptr, ptr %4, align 8, !tbaa !3
  %70 = load i64, ptr %7, align 8, !tbaa !13
  %71 = mul i64 %70, 128
  %72 = load i64, ptr %9, align 8, !tbaa !13
  %73 = add i64 %71, %72
  %74 = getelementptr inbounds float, ptr %69, i64 %73
  store float %68, ptr %74, align 4, !tbaa !7
  call void @llvm.lifetime.end.p0(i64 4, ptr %11) #3
  call void @llvm.lifetime.end.p0(i64 8, ptr %10) #3
  br label %75

75:                                               ; preds = %21
  %76 = load i64, ptr %9, align 8, !tbaa !13
  %77 = add i64 %76, 1
  store i64 %77, ptr %9, align 8, !tbaa !13
  br label %17, !llvm.loop !15

78:                                               ; preds = %20
  br label %79

79:                                               ; preds = %78
  %80 = load i64, ptr %7, align 8, !tbaa !13
  %81 = add i64 %80, 1
  store i64 %81, ptr %7, align 8, !tbaa !13
  br label %12, !llvm.loop !16

82:                                               ; preds = %15
  ret void
}

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.end.p0(i64 immarg, ptr nocapture) #1

; Function Attrs: nounwind
define internal float @conduct(float noundef %0, float noundef %1, float noundef %2) #0 {
  %4 = alloca float, align 4
  %5 = alloca float, align 4
  %6 = alloca float, align 4
  %7 = alloca float, align 4
  %8 = alloca float, align 4
  %9 = alloca float, align 4
  %10 = alloca float, align 4
  %11 = alloca float, align 4
  %12 = alloca float, align 4
  %13 = alloca float, align 4
  %14 = alloca float, align 4
  %15 = alloca float, align 4
  store float %0, ptr %4, align 4, !tbaa !7
  store float %1, ptr %5, align 4, !tbaa !7
  store float %2, ptr %6, align 4, !tbaa !7
  call void @llvm.lifetime.start.p0(i64 4, ptr %7) #3
  %16 = load float, ptr %5, align 4, !tbaa !7
  %17 = load float, ptr %4, align 4, !tbaa !7
  %18 = fsub float %16, %17
  store float %18, ptr %7, align 4, !tbaa !7
  call void @llvm.lifetime.start.p0(i64 4, ptr %8) #3
  %19 = load float, ptr %7, align 4, !tbaa !7
  %20 = load float, ptr %7, align 4, !tbaa !7
  %21 = fmul float %19, %20
  store float %21, ptr %8, align 4, !tbaa !7
  call void @llvm.lifetime.start.p0(i64 4, ptr %9) #3
  %22 = load float, ptr %7, align 4, !tbaa !7
  %23 = load float, ptr %8, align 4, !tbaa !7
  %24 = load float, ptr %8, align 4, !tbaa !7
  %25 = load float, ptr %8, align 4, !tbaa !7
  %26 = load float, ptr %8, align 4, !tbaa !7
  %27 = load float, ptr %8, align 4, !tbaa !7
  %28 = call float @llvm.fmuladd.f32(float %27, float 0x3EB27476C0000000, float 0x3EF6052500000000)
  %29 = call float @llvm.fmuladd.f32(float %26, float %28, float 0x3F383F91E0000000)
  %30 = call float @llvm.fmuladd.f32(float %25, float %29, float 0x3F78FC5040000000)
  %31 = call float @llvm.fmuladd.f32(float %24, float %30, float 0x3FB53F7CE0000000)
  %32 = call float @llvm.fmuladd.f32(float %23, float %31, float 1.000000e+00)
  %33 = fmul float %22, %32
  store float %33, ptr %9, align 4, !tbaa !7
  call void @llvm.lifetime.start.p0(i64 4, ptr %10) #3
  %34 = load float, ptr %8, align 4, !tbaa !7
  %35 = load float, ptr %8, align 4, !tbaa !7
  %36 = load float, ptr %8, align 4, !tbaa !7
  %37 = load float, ptr %8, align 4, !tbaa !7
  %38 = load float, ptr %8, align 4, !tbaa !7
  %39 = call float @llvm.fmuladd.f32(float %38, float 0x3ED1325760000000, float 0x3F1CD5F9A0000000)
  %40 = call float @llvm.fmuladd.f32(float %37, float %39, float 0x3F67C1BDA0000000)
  %41 = call float @llvm.fmuladd.f32(float %36, float %40, float 0x3FA89374C0000000)
  %42 = call float @llvm.fmuladd.f32(float %35, float %41, float 0x3FD7AE1480000000)
  %43 = call float @llvm.fmuladd.f32(float %34, float %42, float 1.000000e+00)
  store float %43, ptr %10, align 4, !tbaa !7
  call void @llvm.lifetime.start.p0(i64 4, ptr %11) #3
  %44 = load float, ptr %4, align 4, !tbaa !7
  %45 = load float, ptr %5, align 4, !tbaa !7
  %46 = fmul float %44, %45
  store float %46, ptr %11, align 4, !tbaa !7
  call void @llvm.lifetime.start.p0(i64 4, ptr %12) #3
  %47 = load float, ptr %11, align 4, !tbaa !7
  %48 = load float, ptr %11, align 4, !tbaa !7
  %49 = load float, ptr %11, align 4, !tbaa !7
  %50 = load float, ptr %11, align 4, !tbaa !7
  %51 = load float, ptr %11, align 4, !tbaa !7
  %52 = call float @llvm.fmuladd.f32(float %51, float 0x3F3ADEA8A0000000, float 0x3F6A36E2E0000000)
  %53 = call float @llvm.fmuladd.f32(float %50, float %52, float 0x3F95810620000000)
  %54 = call float @llvm.fmuladd.f32(float %49, float %53, float 0x3FBEB851E0000000)
  %55 = call float @llvm.fmuladd.f32(float %48, float %54, float 5.000000e-01)
  %56 = call float @llvm.fmuladd.f32(float %47, float %55, float 1.000000e+00)
  store float %56, ptr %12, align 4, !tbaa !7
  call void @llvm.lifetime.start.p0(i64 4, ptr %13) #3
  %57 = load float, ptr %11, align 4, !tbaa !7
  %58 = load float, ptr %11, align 4, !tbaa !7
  %59 = load float, ptr %11, align 4, !tbaa !7
  %60 = load float, ptr %11, align 4, !tbaa !7
  %61 = load float, ptr %11, align 4, !tbaa !7
  %62 = call float @llvm.fmuladd.f32(float %61, float 0x3F0FFB4800000000, float 0x3F410A1380000000)
  %63 = call float @llvm.fmuladd.f32(float %60, float %62, float 0x3F719CE080000000)
  %64 = call float @llvm.fmuladd.f32(float %59, float %63, float 0x3FA0E56040000000)
  %65 = call float @llvm.fmuladd.f32(float %58, float %64, float 2.500000e-01)
  %66 = call float @llvm.fmuladd.f32(float %57, float %65, float 1.000000e+00)
  store float %66, ptr %13, align 4, !tbaa !7
  call void @llvm.lifetime.start.p0(i64 4, ptr %14) #3
  %67 = load float, ptr %6, align 4, !tbaa !7
  %68 = load float, ptr %9, align 4, !tbaa !7
  %69 = fmul float %67, %68
  %70 = load float, ptr %13, align 4, !tbaa !7
  %71 = fmul float %69, %70
  %72 = load float, ptr %10, align 4, !tbaa !7
  %73 = load float, ptr %12, align 4, !tbaa !7
  %74 = fmul float %72, %73
  %75 = fdiv float %71, %74
  store float %75, ptr %14, align 4, !tbaa !7
  call void @llvm.lifetime.start.p0(i64 4, ptr %15) #3
  %76 = load float, ptr %4, align 4, !tbaa !7
  %77 = load float, ptr %5, align 4, !tbaa !7
  %78 = fadd float %76, %77
  %79 = fmul float 2.500000e-01, %78
  store float %79, ptr %15, align 4, !tbaa !7
  %80 = load float, ptr %14, align 4, !tbaa !7
  %81 = load float, ptr %15, align 4, !tbaa !7
  %82 = fcmp ogt float %80, %81
  br i1 %82, label %83, label %85

83:                                               ; preds = %3
  %84 = load float, ptr %15, align 4, !tbaa !7
  br label %87

85:                                               ; preds = %3
  %86 = load float, ptr %14, align 4, !tbaa !7
  br label %87

87:                                               ; preds = %85, %83
  %88 = phi float [ %84, %83 ], [ %86, %85 ]
  store float %88, ptr %14, align 4, !tbaa !7
  %89 = load float, ptr %14, align 4, !tbaa !7
  %90 = load float, ptr %15, align 4, !tbaa !7
  %91 = fneg float %90
  %92 = fcmp olt float %89, %91
  br i1 %92, label %93, label %96

93:                                               ; preds = %87
  %94 = load float, ptr %15, align 4, !tbaa !7
  %95 = fneg float %94
  br label %98

96:                                               ; preds = %87
  %97 = load float, ptr %14, align 4, !tbaa !7
  br label %98

98:                                               ; preds = %96, %93
  %99 = phi float [ %95, %93 ], [ %97, %96 ]
  call void @llvm.lifetime.end.p0(i64 4, ptr %15) #3
  call void @llvm.lifetime.end.p0(i64 4, ptr %14) #3
  call void @llvm.lifetime.end.p0(i64 4, ptr %13) #3
  call void @llvm.lifetime.end.p0(i64 4, ptr %12) #3
  call void @llvm.lifetime.end.p0(i64 4, ptr %11) #3
  call void @llvm.lifetime.end.p0(i64 4, ptr %10) #3
  call void @llvm.lifetime.end.p0(i64 4, ptr %9) #3
  call void @llvm.lifetime.end.p0(i64 4, ptr %8) #3
  call void @llvm.lifetime.end.p0(i64 4, ptr %7) #3
  ret float %99
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.fmuladd.f32(float, float, float) #2

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
!8 = !{!"float", !5, i64 0}
!9 = !{!10, !10, i64 0}
!10 = !{!"int", !5, i64 0}
!11 = distinct !{!11, !12}
!12 = !{!"llvm.loop.mustprogress"}
!13 = !{!14, !14, i64 0}
!14 = !{!"long", !5, i64 0}
!15 = distinct !{!15, !12}
!16 = distinct !{!16, !12}
