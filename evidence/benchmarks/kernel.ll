; ModuleID = 'kernel.c'
source_filename = "kernel.c"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

%struct.Body = type { double, double, double, double }

@digits = internal constant [65 x i8] c"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/\00", align 16

; Function Attrs: nounwind uwtable
define dso_local void @filter(ptr noalias noundef %0, ptr noalias noundef %1, ptr noalias noundef %2, i64 noundef %3, i64 noundef %4) #0 {
  %6 = alloca ptr, align 8
  %7 = alloca ptr, align 8
  %8 = alloca ptr, align 8
  %9 = alloca i64, align 8
  %10 = alloca i64, align 8
  %11 = alloca i64, align 8
  store ptr %0, ptr %6, align 8, !tbaa !5
  store ptr %1, ptr %7, align 8, !tbaa !5
  store ptr %2, ptr %8, align 8, !tbaa !5
  store i64 %3, ptr %9, align 8, !tbaa !9
  store i64 %4, ptr %10, align 8, !tbaa !9
  call void @llvm.lifetime.start.p0(i64 8, ptr %11) #6
  store i64 0, ptr %11, align 8, !tbaa !9
  br label %12

12:                                               ; preds = %29, %5
  %13 = load i64, ptr %11, align 8, !tbaa !9
  %14 = load i64, ptr %10, align 8, !tbaa !9
  %15 = add i64 %13, %14
  %16 = load i64, ptr %9, align 8, !tbaa !9
  %17 = icmp ule i64 %15, %16
  br i1 %17, label %19, label %18

18:                                               ; preds = %12
  call void @llvm.lifetime.end.p0(i64 8, ptr %11) #6
  br label %32

19:                                               ; preds = %12
  %20 = load ptr, ptr %7, align 8, !tbaa !5
  %21 = load i64, ptr %11, align 8, !tbaa !9
  %22 = getelementptr inbounds float, ptr %20, i64 %21
  %23 = load ptr, ptr %8, align 8, !tbaa !5
  %24 = load i64, ptr %10, align 8, !tbaa !9
  %25 = call float @dot(ptr noundef %22, ptr noundef %23, i64 noundef %24)
  %26 = load ptr, ptr %6, align 8, !tbaa !5
  %27 = load i64, ptr %11, align 8, !tbaa !9
  %28 = getelementptr inbounds float, ptr %26, i64 %27
  store float %25, ptr %28, align 4, !tbaa !11
  br label %29

29:                                               ; preds = %19
  %30 = load i64, ptr %11, align 8, !tbaa !9
  %31 = add i64 %30, 1
  store i64 %31, ptr %11, align 8, !tbaa !9
  br label %12, !llvm.loop !13

32:                                               ; preds = %18
  ret void
}

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.start.p0(i64 immarg, ptr nocapture) #1

; Function Attrs: nounwind uwtable
define internal float @dot(ptr noundef %0, ptr noundef %1, i64 noundef %2) #0 {
  %4 = alloca ptr, align 8
  %5 = alloca ptr, align 8
  %6 = alloca i64, align 8
  %7 = alloca float, align 4
  %8 = alloca i64, align 8
  store ptr %0, ptr %4, align 8, !tbaa !5
  store ptr %1, ptr %5, align 8, !tbaa !5
  store i64 %2, ptr %6, align 8, !tbaa !9
  call void @llvm.lifetime.start.p0(i64 4, ptr %7) #6
  store float 0.000000e+00, ptr %7, align 4, !tbaa !11
  call void @llvm.lifetime.start.p0(i64 8, ptr %8) #6
  store i64 0, ptr %8, align 8, !tbaa !9
  br label %9

9:                                                ; preds = %25, %3
  %10 = load i64, ptr %8, align 8, !tbaa !9
  %11 = load i64, ptr %6, align 8, !tbaa !9
  %12 = icmp ult i64 %10, %11
  br i1 %12, label %14, label %13

13:                                               ; preds = %9
  call void @llvm.lifetime.end.p0(i64 8, ptr %8) #6
  br label %28

14:                                               ; preds = %9
  %15 = load ptr, ptr %4, align 8, !tbaa !5
  %16 = load i64, ptr %8, align 8, !tbaa !9
  %17 = getelementptr inbounds float, ptr %15, i64 %16
  %18 = load float, ptr %17, align 4, !tbaa !11
  %19 = load ptr, ptr %5, align 8, !tbaa !5
  %20 = load i64, ptr %8, align 8, !tbaa !9
  %21 = getelementptr inbounds float, ptr %19, i64 %20
  %22 = load float, ptr %21, align 4, !tbaa !11
  %23 = load float, ptr %7, align 4, !tbaa !11
  %24 = call float @llvm.fmuladd.f32(float %18, float %22, float %23)
  store float %24, ptr %7, align 4, !tbaa !11
  br label %25

25:                                               ; preds = %14
  %26 = load i64, ptr %8, align 8, !tbaa !9
  %27 = add i64 %26, 1
  store i64 %27, ptr %8, align 8, !tbaa !9
  br label %9, !llvm.loop !15

28:                                               ; preds = %13
  %29 = load float, ptr %7, align 4, !tbaa !11
  call void @llvm.lifetime.end.p0(i64 4, ptr %7) #6
  ret float %29
}

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.end.p0(i64 immarg, ptr nocapture) #1

; Function Attrs: nounwind uwtable
define dso_local void @sharpen(ptr noalias noundef %0, ptr noalias noundef %1, i64 noundef %2, i64 noundef %3, float noundef %4) #0 {
  %6 = alloca ptr, align 8
  %7 = alloca ptr, align 8
  %8 = alloca i64, align 8
  %9 = alloca i64, align 8
  %10 = alloca float, align 4
  %11 = alloca i64, align 8
  %12 = alloca i32, align 4
  %13 = alloca i64, align 8
  %14 = alloca ptr, align 8
  %15 = alloca float, align 4
  %16 = alloca float, align 4
  store ptr %0, ptr %6, align 8, !tbaa !5
  store ptr %1, ptr %7, align 8, !tbaa !5
  store i64 %2, ptr %8, align 8, !tbaa !9
  store i64 %3, ptr %9, align 8, !tbaa !9
  store float %4, ptr %10, align 4, !tbaa !11
  call void @llvm.lifetime.start.p0(i64 8, ptr %11) #6
  store i64 1, ptr %11, align 8, !tbaa !9
  br label %17

17:                                               ; preds = %79, %5
  %18 = load i64, ptr %11, align 8, !tbaa !9
  %19 = add i64 %18, 1
  %20 = load i64, ptr %8, align 8, !tbaa !9
  %21 = icmp ult i64 %19, %20
  br i1 %21, label %23, label %22

22:                                               ; preds = %17
  store i32 2, ptr %12, align 4
  call void @llvm.lifetime.end.p0(i64 8, ptr %11) #6
  br label %82

23:                                               ; preds = %17
  call void @llvm.lifetime.start.p0(i64 8, ptr %13) #6
  store i64 1, ptr %13, align 8, !tbaa !9
  br label %24

24:                                               ; preds = %75, %23
  %25 = load i64, ptr %13, align 8, !tbaa !9
  %26 = add i64 %25, 1
  %27 = load i64, ptr %9, align 8, !tbaa !9
  %28 = icmp ult i64 %26, %27
  br i1 %28, label %30, label %29

29:                                               ; preds = %24
  store i32 5, ptr %12, align 4
  call void @llvm.lifetime.end.p0(i64 8, ptr %13) #6
  br label %78

30:                                               ; preds = %24
  call void @llvm.lifetime.start.p0(i64 8, ptr %14) #6
  %31 = load ptr, ptr %7, align 8, !tbaa !5
  %32 = load i64, ptr %11, align 8, !tbaa !9
  %33 = load i64, ptr %9, align 8, !tbaa !9
  %34 = mul i64 %32, %33
  %35 = load i64, ptr %13, align 8, !tbaa !9
  %36 = add i64 %34, %35
  %37 = getelementptr inbounds float, ptr %31, i64 %36
  store ptr %37, ptr %14, align 8, !tbaa !5
  call void @llvm.lifetime.start.p0(i64 4, ptr %15) #6
  %38 = load ptr, ptr %14, align 8, !tbaa !5
  %39 = getelementptr inbounds float, ptr %38, i64 -1
  %40 = load float, ptr %39, align 4, !tbaa !11
  %41 = load ptr, ptr %14, align 8, !tbaa !5
  %42 = getelementptr inbounds float, ptr %41, i64 1
  %43 = load float, ptr %42, align 4, !tbaa !11
  %44 = fadd float %40, %43
  %45 = load ptr, ptr %14, align 8, !tbaa !5
  %46 = load i64, ptr %9, align 8, !tbaa !9
  %47 = sub i64 0, %46
  %48 = getelementptr inbounds float, ptr %45, i64 %47
  %49 = load float, ptr %48, align 4, !tbaa !11
  %50 = fadd float %44, %49
  %51 = load ptr, ptr %14, align 8, !tbaa !5
  %52 = load i64, ptr %9, align 8, !tbaa !9
  %53 = getelementptr inbounds float, ptr %51, i64 %52
  %54 = load float, ptr %53, align 4, !tbaa !11
  %55 = fadd float %50, %54
  store float %55, ptr %15, align 4, !tbaa !11
  call void @llvm.lifetime.start.p0(i64 4, ptr %16) #6
  %56 = load ptr, ptr %14, align 8, !tbaa !5
  %57 = getelementptr inbounds float, ptr %56, i64 0
  %58 = load float, ptr %57, align 4, !tbaa !11
  %59 = load float, ptr %15, align 4, !tbaa !11
  %60 = call float @llvm.fmuladd.f32(float -2.500000e-01, float %59, float %58)
  store float %60, ptr %16, align 4, !tbaa !11
  %61 = load ptr, ptr %14, align 8, !tbaa !5
  %62 = getelementptr inbounds float, ptr %61, i64 0
  %63 = load float, ptr %62, align 4, !tbaa !11
  %64 = load float, ptr %10, align 4, !tbaa !11
  %65 = load float, ptr %16, align 4, !tbaa !11
  %66 = call float @llvm.fmuladd.f32(float %64, float %65, float %63)
  %67 = call float @limit(float noundef %66, float noundef 0.000000e+00, float noundef 1.000000e+00)
  %68 = load ptr, ptr %6, align 8, !tbaa !5
  %69 = load i64, ptr %11, align 8, !tbaa !9
  %70 = load i64, ptr %9, align 8, !tbaa !9
  %71 = mul i64 %69, %70
  %72 = load i64, ptr %13, align 8, !tbaa !9
  %73 = add i64 %71, %72
  %74 = getelementptr inbounds float, ptr %68, i64 %73
  store float %67, ptr %74, align 4, !tbaa !11
  call void @llvm.lifetime.end.p0(i64 4, ptr %16) #6
  call void @llvm.lifetime.end.p0(i64 4, ptr %15) #6
  call void @llvm.lifetime.end.p0(i64 8, ptr %14) #6
  br label %75

75:                                               ; preds = %30
  %76 = load i64, ptr %13, align 8, !tbaa !9
  %77 = add i64 %76, 1
  store i64 %77, ptr %13, align 8, !tbaa !9
  br label %24, !llvm.loop !16

78:                                               ; preds = %29
  br label %79

79:                                               ; preds = %78
  %80 = load i64, ptr %11, align 8, !tbaa !9
  %81 = add i64 %80, 1
  store i64 %81, ptr %11, align 8, !tbaa !9
  br label %17, !llvm.loop !17

82:                                               ; preds = %22
  ret void
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.fmuladd.f32(float, float, float) #2

; Function Attrs: nounwind uwtable
define internal float @limit(float noundef %0, float noundef %1, float noundef %2) #0 {
  %4 = alloca float, align 4
  %5 = alloca float, align 4
  %6 = alloca float, align 4
  %7 = alloca float, align 4
  store float %0, ptr %5, align 4, !tbaa !11
  store float %1, ptr %6, align 4, !tbaa !11
  store float %2, ptr %7, align 4, !tbaa !11
  %8 = load float, ptr %5, align 4, !tbaa !11
  %9 = load float, ptr %6, align 4, !tbaa !11
  %10 = fcmp olt float %8, %9
  br i1 %10, label %11, label %13

11:                                               ; preds = %3
  %12 = load float, ptr %6, align 4, !tbaa !11
  store float %12, ptr %4, align 4
  br label %23

13:                                               ; preds = %3
  %14 = load float, ptr %5, align 4, !tbaa !11
  %15 = load float, ptr %7, align 4, !tbaa !11
  %16 = fcmp ogt float %14, %15
  br i1 %16, label %17, label %19

17:                                               ; preds = %13
  %18 = load float, ptr %7, align 4, !tbaa !11
  br label %21

19:                                               ; preds = %13
  %20 = load float, ptr %5, align 4, !tbaa !11
  br label %21

21:                                               ; preds = %19, %17
  %22 = phi float [ %18, %17 ], [ %20, %19 ]
  store float %22, ptr %4, align 4
  br label %23

23:                                               ; preds = %21, %11
  %24 = load float, ptr %4, align 4
  ret float %24
}

; Function Attrs: nounwind uwtable
define dso_local i32 @hash(ptr noundef %0, i64 noundef %1, i32 noundef %2) #0 {
  %4 = alloca ptr, align 8
  %5 = alloca i64, align 8
  %6 = alloca i32, align 4
  %7 = alloca i32, align 4
  %8 = alloca i64, align 8
  %9 = alloca i32, align 4
  %10 = alloca i32, align 4
  %11 = alloca i32, align 4
  store ptr %0, ptr %4, align 8, !tbaa !5
  store i64 %1, ptr %5, align 8, !tbaa !9
  store i32 %2, ptr %6, align 4, !tbaa !18
  call void @llvm.lifetime.start.p0(i64 4, ptr %7) #6
  %12 = load i32, ptr %6, align 4, !tbaa !18
  store i32 %12, ptr %7, align 4, !tbaa !18
  call void @llvm.lifetime.start.p0(i64 8, ptr %8) #6
  store i64 0, ptr %8, align 8, !tbaa !9
  br label %13

13:                                               ; preds = %51, %3
  %14 = load i64, ptr %8, align 8, !tbaa !9
  %15 = add i64 %14, 4
  %16 = load i64, ptr %5, align 8, !tbaa !9
  %17 = icmp ule i64 %15, %16
  br i1 %17, label %18, label %54

18:                                               ; preds = %13
  call void @llvm.lifetime.start.p0(i64 4, ptr %9) #6
  %19 = load ptr, ptr %4, align 8, !tbaa !5
  %20 = load i64, ptr %8, align 8, !tbaa !9
  %21 = getelementptr inbounds i8, ptr %19, i64 %20
  %22 = load i8, ptr %21, align 1, !tbaa !20
  %23 = zext i8 %22 to i32
  %24 = load ptr, ptr %4, align 8, !tbaa !5
  %25 = load i64, ptr %8, align 8, !tbaa !9
  %26 = add i64 %25, 1
  %27 = getelementptr inbounds i8, ptr %24, i64 %26
  %28 = load i8, ptr %27, align 1, !tbaa !20
  %29 = zext i8 %28 to i32
  %30 = shl i32 %29, 8
  %31 = or i32 %23, %30
  %32 = load ptr, ptr %4, align 8, !tbaa !5
  %33 = load i64, ptr %8, align 8, !tbaa !9
  %34 = add i64 %33, 2
  %35 = getelementptr inbounds i8, ptr %32, i64 %34
  %36 = load i8, ptr %35, align 1, !tbaa !20
  %37 = zext i8 %36 to i32
  %38 = shl i32 %37, 16
  %39 = or i32 %31, %38
  %40 = load ptr, ptr %4, align 8, !tbaa !5
  %41 = load i64, ptr %8, align 8, !tbaa !9
  %42 = add i64 %41, 3
  %43 = getelementptr inbounds i8, ptr %40, i64 %42
  %44 = load i8, ptr %43, align 1, !tbaa !20
  %45 = zext i8 %44 to i32
  %46 = shl i32 %45, 24
  %47 = or i32 %39, %46
  store i32 %47, ptr %9, align 4, !tbaa !18
  %48 = load i32, ptr %7, align 4, !tbaa !18
  %49 = load i32, ptr %9, align 4, !tbaa !18
  %50 = call i32 @mixed(i32 noundef %48, i32 noundef %49)
  store i32 %50, ptr %7, align 4, !tbaa !18
  call void @llvm.lifetime.end.p0(i64 4, ptr %9) #6
  br label %51

51:                                               ; preds = %18
  %52 = load i64, ptr %8, align 8, !tbaa !9
  %53 = add i64 %52, 4
  store i64 %53, ptr %8, align 8, !tbaa !9
  br label %13, !llvm.loop !21

54:                                               ; preds = %13
  call void @llvm.lifetime.start.p0(i64 4, ptr %10) #6
  store i32 0, ptr %10, align 4, !tbaa !18
  call void @llvm.lifetime.start.p0(i64 4, ptr %11) #6
  store i32 0, ptr %11, align 4, !tbaa !18
  br label %55

55:                                               ; preds = %70, %54
  %56 = load i64, ptr %8, align 8, !tbaa !9
  %57 = load i64, ptr %5, align 8, !tbaa !9
  %58 = icmp ult i64 %56, %57
  br i1 %58, label %60, label %59

59:                                               ; preds = %55
  call void @llvm.lifetime.end.p0(i64 4, ptr %11) #6
  br label %75

60:                                               ; preds = %55
  %61 = load ptr, ptr %4, align 8, !tbaa !5
  %62 = load i64, ptr %8, align 8, !tbaa !9
  %63 = getelementptr inbounds i8, ptr %61, i64 %62
  %64 = load i8, ptr %63, align 1, !tbaa !20
  %65 = zext i8 %64 to i32
  %66 = load i32, ptr %11, align 4, !tbaa !18
  %67 = shl i32 %65, %66
  %68 = load i32, ptr %10, align 4, !tbaa !18
  %69 = or i32 %68, %67
  store i32 %69, ptr %10, align 4, !tbaa !18
  br label %70

70:                                               ; preds = %60
  %71 = load i64, ptr %8, align 8, !tbaa !9
  %72 = add i64 %71, 1
  store i64 %72, ptr %8, align 8, !tbaa !9
  %73 = load i32, ptr %11, align 4, !tbaa !18
  %74 = add i32 %73, 8
  store i32 %74, ptr %11, align 4, !tbaa !18
  br label %55, !llvm.loop !22

75:                                               ; preds = %59
  %76 = load i32, ptr %7, align 4, !tbaa !18
  %77 = load i32, ptr %10, align 4, !tbaa !18
  %78 = call i32 @mixed(i32 noundef %76, i32 noundef %77)
  %79 = load i64, ptr %5, align 8, !tbaa !9
  %80 = trunc i64 %79 to i32
  %81 = xor i32 %78, %80
  store i32 %81, ptr %7, align 4, !tbaa !18
  %82 = load i32, ptr %7, align 4, !tbaa !18
  %83 = load i32, ptr %7, align 4, !tbaa !18
  %84 = lshr i32 %83, 16
  %85 = xor i32 %82, %84
  %86 = mul i32 %85, -2048144789
  store i32 %86, ptr %7, align 4, !tbaa !18
  %87 = load i32, ptr %7, align 4, !tbaa !18
  %88 = load i32, ptr %7, align 4, !tbaa !18
  %89 = lshr i32 %88, 13
  %90 = xor i32 %87, %89
  %91 = mul i32 %90, -1028477387
  store i32 %91, ptr %7, align 4, !tbaa !18
  %92 = load i32, ptr %7, align 4, !tbaa !18
  %93 = load i32, ptr %7, align 4, !tbaa !18
  %94 = lshr i32 %93, 16
  %95 = xor i32 %92, %94
  call void @llvm.lifetime.end.p0(i64 4, ptr %10) #6
  call void @llvm.lifetime.end.p0(i64 8, ptr %8) #6
  call void @llvm.lifetime.end.p0(i64 4, ptr %7) #6
  ret i32 %95
}

; Function Attrs: inlinehint nounwind uwtable
define internal i32 @mixed(i32 noundef %0, i32 noundef %1) #3 {
  %3 = alloca i32, align 4
  %4 = alloca i32, align 4
  store i32 %0, ptr %3, align 4, !tbaa !18
  store i32 %1, ptr %4, align 4, !tbaa !18
  %5 = load i32, ptr %4, align 4, !tbaa !18
  %6 = mul i32 %5, -862048943
  store i32 %6, ptr %4, align 4, !tbaa !18
  %7 = load i32, ptr %4, align 4, !tbaa !18
  %8 = call i32 @rotated(i32 noundef %7, i32 noundef 15)
  %9 = mul i32 %8, 461845907
  store i32 %9, ptr %4, align 4, !tbaa !18
  %10 = load i32, ptr %3, align 4, !tbaa !18
  %11 = load i32, ptr %4, align 4, !tbaa !18
  %12 = xor i32 %10, %11
  %13 = call i32 @rotated(i32 noundef %12, i32 noundef 13)
  %14 = mul i32 %13, 5
  %15 = add i32 %14, -430675100
  ret i32 %15
}

; Function Attrs: nounwind uwtable
define dso_local void @sort(ptr noundef %0, i64 noundef %1) #0 {
  %3 = alloca ptr, align 8
  %4 = alloca i64, align 8
  %5 = alloca i64, align 8
  %6 = alloca i32, align 4
  %7 = alloca i64, align 8
  %8 = alloca i64, align 8
  store ptr %0, ptr %3, align 8, !tbaa !5
  store i64 %1, ptr %4, align 8, !tbaa !9
  br label %9

9:                                                ; preds = %91, %2
  %10 = load i64, ptr %4, align 8, !tbaa !9
  %11 = icmp ugt i64 %10, 16
  br i1 %11, label %12, label %100

12:                                               ; preds = %9
  call void @llvm.lifetime.start.p0(i64 8, ptr %5) #6
  %13 = load i64, ptr %4, align 8, !tbaa !9
  %14 = udiv i64 %13, 2
  store i64 %14, ptr %5, align 8, !tbaa !9
  %15 = load ptr, ptr %3, align 8, !tbaa !5
  %16 = getelementptr inbounds i32, ptr %15, i64 0
  %17 = load i32, ptr %16, align 4, !tbaa !18
  %18 = load ptr, ptr %3, align 8, !tbaa !5
  %19 = load i64, ptr %5, align 8, !tbaa !9
  %20 = getelementptr inbounds i32, ptr %18, i64 %19
  %21 = load i32, ptr %20, align 4, !tbaa !18
  %22 = icmp sgt i32 %17, %21
  br i1 %22, label %23, label %29

23:                                               ; preds = %12
  %24 = load ptr, ptr %3, align 8, !tbaa !5
  %25 = getelementptr inbounds i32, ptr %24, i64 0
  %26 = load ptr, ptr %3, align 8, !tbaa !5
  %27 = load i64, ptr %5, align 8, !tbaa !9
  %28 = getelementptr inbounds i32, ptr %26, i64 %27
  call void @exchange(ptr noundef %25, ptr noundef %28)
  br label %29

29:                                               ; preds = %23, %12
  %30 = load ptr, ptr %3, align 8, !tbaa !5
  %31 = load i64, ptr %5, align 8, !tbaa !9
  %32 = getelementptr inbounds i32, ptr %30, i64 %31
  %33 = load i32, ptr %32, align 4, !tbaa !18
  %34 = load ptr, ptr %3, align 8, !tbaa !5
  %35 = load i64, ptr %4, align 8, !tbaa !9
  %36 = sub i64 %35, 1
  %37 = getelementptr inbounds i32, ptr %34, i64 %36
  %38 = load i32, ptr %37, align 4, !tbaa !18
  %39 = icmp sgt i32 %33, %38
  br i1 %39, label %40, label %48

40:                                               ; preds = %29
  %41 = load ptr, ptr %3, align 8, !tbaa !5
  %42 = load i64, ptr %5, align 8, !tbaa !9
  %43 = getelementptr inbounds i32, ptr %41, i64 %42
  %44 = load ptr, ptr %3, align 8, !tbaa !5
  %45 = load i64, ptr %4, align 8, !tbaa !9
  %46 = sub i64 %45, 1
  %47 = getelementptr inbounds i32, ptr %44, i64 %46
  call void @exchange(ptr noundef %43, ptr noundef %47)
  br label %48

48:                                               ; preds = %40, %29
  call void @llvm.lifetime.start.p0(i64 4, ptr %6) #6
  %49 = load ptr, ptr %3, align 8, !tbaa !5
  %50 = load i64, ptr %5, align 8, !tbaa !9
  %51 = getelementptr inbounds i32, ptr %49, i64 %50
  %52 = load i32, ptr %51, align 4, !tbaa !18
  store i32 %52, ptr %6, align 4, !tbaa !18
  call void @llvm.lifetime.start.p0(i64 8, ptr %7) #6
  store i64 0, ptr %7, align 8, !tbaa !9
  call void @llvm.lifetime.start.p0(i64 8, ptr %8) #6
  %53 = load i64, ptr %4, align 8, !tbaa !9
  %54 = sub i64 %53, 1
  store i64 %54, ptr %8, align 8, !tbaa !9
  br label %55

55:                                               ; preds = %82, %48
  br label %56

56:                                               ; preds = %63, %55
  %57 = load ptr, ptr %3, align 8, !tbaa !5
  %58 = load i64, ptr %7, align 8, !tbaa !9
  %59 = getelementptr inbounds i32, ptr %57, i64 %58
  %60 = load i32, ptr %59, align 4, !tbaa !18
  %61 = load i32, ptr %6, align 4, !tbaa !18
  %62 = icmp slt i32 %60, %61
  br i1 %62, label %63, label %66

63:                                               ; preds = %56
  %64 = load i64, ptr %7, align 8, !tbaa !9
  %65 = add i64 %64, 1
  store i64 %65, ptr %7, align 8, !tbaa !9
  br label %56, !llvm.loop !23

66:                                               ; preds = %56
  br label %67

67:                                               ; preds = %74, %66
  %68 = load ptr, ptr %3, align 8, !tbaa !5
  %69 = load i64, ptr %8, align 8, !tbaa !9
  %70 = getelementptr inbounds i32, ptr %68, i64 %69
  %71 = load i32, ptr %70, align 4, !tbaa !18
  %72 = load i32, ptr %6, align 4, !tbaa !18
  %73 = icmp sgt i32 %71, %72
  br i1 %73, label %74, label %77

74:                                               ; preds = %67
  %75 = load i64, ptr %8, align 8, !tbaa !9
  %76 = add i64 %75, -1
  store i64 %76, ptr %8, align 8, !tbaa !9
  br label %67, !llvm.loop !24

77:                                               ; preds = %67
  %78 = load i64, ptr %7, align 8, !tbaa !9
  %79 = load i64, ptr %8, align 8, !tbaa !9
  %80 = icmp uge i64 %78, %79
  br i1 %80, label %81, label %82

81:                                               ; preds = %77
  br label %91

82:                                               ; preds = %77
  %83 = load ptr, ptr %3, align 8, !tbaa !5
  %84 = load i64, ptr %7, align 8, !tbaa !9
  %85 = add i64 %84, 1
  store i64 %85, ptr %7, align 8, !tbaa !9
  %86 = getelementptr inbounds i32, ptr %83, i64 %84
  %87 = load ptr, ptr %3, align 8, !tbaa !5
  %88 = load i64, ptr %8, align 8, !tbaa !9
  %89 = add i64 %88, -1
  store i64 %89, ptr %8, align 8, !tbaa !9
  %90 = getelementptr inbounds i32, ptr %87, i64 %88
  call void @exchange(ptr noundef %86, ptr noundef %90)
  br label %55

91:                                               ; preds = %81
  %92 = load ptr, ptr %3, align 8, !tbaa !5
  %93 = load i64, ptr %7, align 8, !tbaa !9
  call void @sort(ptr noundef %92, i64 noundef %93)
  %94 = load i64, ptr %7, align 8, !tbaa !9
  %95 = load ptr, ptr %3, align 8, !tbaa !5
  %96 = getelementptr inbounds i32, ptr %95, i64 %94
  store ptr %96, ptr %3, align 8, !tbaa !5
  %97 = load i64, ptr %7, align 8, !tbaa !9
  %98 = load i64, ptr %4, align 8, !tbaa !9
  %99 = sub i64 %98, %97
  store i64 %99, ptr %4, align 8, !tbaa !9
  call void @llvm.lifetime.end.p0(i64 8, ptr %8) #6
  call void @llvm.lifetime.end.p0(i64 8, ptr %7) #6
  call void @llvm.lifetime.end.p0(i64 4, ptr %6) #6
  call void @llvm.lifetime.end.p0(i64 8, ptr %5) #6
  br label %9, !llvm.loop !25

100:                                              ; preds = %9
  %101 = load ptr, ptr %3, align 8, !tbaa !5
  %102 = load i64, ptr %4, align 8, !tbaa !9
  call void @insert_all(ptr noundef %101, i64 noundef %102)
  ret void
}

; Function Attrs: nounwind uwtable
define internal void @exchange(ptr noundef %0, ptr noundef %1) #0 {
  %3 = alloca ptr, align 8
  %4 = alloca ptr, align 8
  %5 = alloca i32, align 4
  store ptr %0, ptr %3, align 8, !tbaa !5
  store ptr %1, ptr %4, align 8, !tbaa !5
  call void @llvm.lifetime.start.p0(i64 4, ptr %5) #6
  %6 = load ptr, ptr %3, align 8, !tbaa !5
  %7 = load i32, ptr %6, align 4, !tbaa !18
  store i32 %7, ptr %5, align 4, !tbaa !18
  %8 = load ptr, ptr %4, align 8, !tbaa !5
  %9 = load i32, ptr %8, align 4, !tbaa !18
  %10 = load ptr, ptr %3, align 8, !tbaa !5
  store i32 %9, ptr %10, align 4, !tbaa !18
  %11 = load i32, ptr %5, align 4, !tbaa !18
  %12 = load ptr, ptr %4, align 8, !tbaa !5
  store i32 %11, ptr %12, align 4, !tbaa !18
  call void @llvm.lifetime.end.p0(i64 4, ptr %5) #6
  ret void
}

; Function Attrs: nounwind uwtable
define internal void @insert_all(ptr noundef %0, i64 noundef %1) #0 {
  %3 = alloca ptr, align 8
  %4 = alloca i64, align 8
  %5 = alloca i64, align 8
  %6 = alloca i32, align 4
  %7 = alloca i64, align 8
  store ptr %0, ptr %3, align 8, !tbaa !5
  store i64 %1, ptr %4, align 8, !tbaa !9
  call void @llvm.lifetime.start.p0(i64 8, ptr %5) #6
  store i64 1, ptr %5, align 8, !tbaa !9
  br label %8

8:                                                ; preds = %44, %2
  %9 = load i64, ptr %5, align 8, !tbaa !9
  %10 = load i64, ptr %4, align 8, !tbaa !9
  %11 = icmp ult i64 %9, %10
  br i1 %11, label %13, label %12

12:                                               ; preds = %8
  store i32 2, ptr %6, align 4
  call void @llvm.lifetime.end.p0(i64 8, ptr %5) #6
  br label %47

13:                                               ; preds = %8
  call void @llvm.lifetime.start.p0(i64 8, ptr %7) #6
  %14 = load i64, ptr %5, align 8, !tbaa !9
  store i64 %14, ptr %7, align 8, !tbaa !9
  br label %15

15:                                               ; preds = %40, %13
  %16 = load i64, ptr %7, align 8, !tbaa !9
  %17 = icmp ugt i64 %16, 0
  br i1 %17, label %18, label %29

18:                                               ; preds = %15
  %19 = load ptr, ptr %3, align 8, !tbaa !5
  %20 = load i64, ptr %7, align 8, !tbaa !9
  %21 = sub i64 %20, 1
  %22 = getelementptr inbounds i32, ptr %19, i64 %21
  %23 = load i32, ptr %22, align 4, !tbaa !18
  %24 = load ptr, ptr %3, align 8, !tbaa !5
  %25 = load i64, ptr %7, align 8, !tbaa !9
  %26 = getelementptr inbounds i32, ptr %24, i64 %25
  %27 = load i32, ptr %26, align 4, !tbaa !18
  %28 = icmp sgt i32 %23, %27
  br label %29

29:                                               ; preds = %18, %15
  %30 = phi i1 [ false, %15 ], [ %28, %18 ]
  br i1 %30, label %32, label %31

31:                                               ; preds = %29
  store i32 5, ptr %6, align 4
  call void @llvm.lifetime.end.p0(i64 8, ptr %7) #6
  br label %43

32:                                               ; preds = %29
  %33 = load ptr, ptr %3, align 8, !tbaa !5
  %34 = load i64, ptr %7, align 8, !tbaa !9
  %35 = sub i64 %34, 1
  %36 = getelementptr inbounds i32, ptr %33, i64 %35
  %37 = load ptr, ptr %3, align 8, !tbaa !5
  %38 = load i64, ptr %7, align 8, !tbaa !9
  %39 = getelementptr inbounds i32, ptr %37, i64 %38
  call void @exchange(ptr noundef %36, ptr noundef %39)
  br label %40

40:                                               ; preds = %32
  %41 = load i64, ptr %7, align 8, !tbaa !9
  %42 = add i64 %41, -1
  store i64 %42, ptr %7, align 8, !tbaa !9
  br label %15, !llvm.loop !26

43:                                               ; preds = %31
  br label %44

44:                                               ; preds = %43
  %45 = load i64, ptr %5, align 8, !tbaa !9
  %46 = add i64 %45, 1
  store i64 %46, ptr %5, align 8, !tbaa !9
  br label %8, !llvm.loop !27

47:                                               ; preds = %12
  ret void
}

; Function Attrs: nounwind uwtable
define dso_local void @count(ptr noalias noundef %0, ptr noalias noundef %1, i64 noundef %2) #0 {
  %4 = alloca ptr, align 8
  %5 = alloca ptr, align 8
  %6 = alloca i64, align 8
  %7 = alloca [256 x i32], align 16
  %8 = alloca i64, align 8
  %9 = alloca i32, align 4
  %10 = alloca i64, align 8
  store ptr %0, ptr %4, align 8, !tbaa !5
  store ptr %1, ptr %5, align 8, !tbaa !5
  store i64 %2, ptr %6, align 8, !tbaa !9
  call void @llvm.lifetime.start.p0(i64 1024, ptr %7) #6
  call void @llvm.memset.p0.i64(ptr align 16 %7, i8 0, i64 1024, i1 false)
  call void @llvm.lifetime.start.p0(i64 8, ptr %8) #6
  store i64 0, ptr %8, align 8, !tbaa !9
  br label %11

11:                                               ; preds = %25, %3
  %12 = load i64, ptr %8, align 8, !tbaa !9
  %13 = load i64, ptr %6, align 8, !tbaa !9
  %14 = icmp ult i64 %12, %13
  br i1 %14, label %16, label %15

15:                                               ; preds = %11
  call void @llvm.lifetime.end.p0(i64 8, ptr %8) #6
  br label %28

16:                                               ; preds = %11
  %17 = load ptr, ptr %5, align 8, !tbaa !5
  %18 = load i64, ptr %8, align 8, !tbaa !9
  %19 = getelementptr inbounds i8, ptr %17, i64 %18
  %20 = load i8, ptr %19, align 1, !tbaa !20
  %21 = zext i8 %20 to i64
  %22 = getelementptr inbounds [256 x i32], ptr %7, i64 0, i64 %21
  %23 = load i32, ptr %22, align 4, !tbaa !18
  %24 = add i32 %23, 1
  store i32 %24, ptr %22, align 4, !tbaa !18
  br label %25

25:                                               ; preds = %16
  %26 = load i64, ptr %8, align 8, !tbaa !9
  %27 = add i64 %26, 1
  store i64 %27, ptr %8, align 8, !tbaa !9
  br label %11, !llvm.loop !28

28:                                               ; preds = %15
  call void @llvm.lifetime.start.p0(i64 4, ptr %9) #6
  store i32 0, ptr %9, align 4, !tbaa !18
  call void @llvm.lifetime.start.p0(i64 8, ptr %10) #6
  store i64 0, ptr %10, align 8, !tbaa !9
  br label %29

29:                                               ; preds = %43, %28
  %30 = load i64, ptr %10, align 8, !tbaa !9
  %31 = icmp ult i64 %30, 256
  br i1 %31, label %33, label %32

32:                                               ; preds = %29
  call void @llvm.lifetime.end.p0(i64 8, ptr %10) #6
  br label %46

33:                                               ; preds = %29
  %34 = load i32, ptr %9, align 4, !tbaa !18
  %35 = load ptr, ptr %4, align 8, !tbaa !5
  %36 = load i64, ptr %10, align 8, !tbaa !9
  %37 = getelementptr inbounds i32, ptr %35, i64 %36
  store i32 %34, ptr %37, align 4, !tbaa !18
  %38 = load i64, ptr %10, align 8, !tbaa !9
  %39 = getelementptr inbounds [256 x i32], ptr %7, i64 0, i64 %38
  %40 = load i32, ptr %39, align 4, !tbaa !18
  %41 = load i32, ptr %9, align 4, !tbaa !18
  %42 = add i32 %41, %40
  store i32 %42, ptr %9, align 4, !tbaa !18
  br label %43

43:                                               ; preds = %33
  %44 = load i64, ptr %10, align 8, !tbaa !9
  %45 = add i64 %44, 1
  store i64 %45, ptr %10, align 8, !tbaa !9
  br label %29, !llvm.loop !29

46:                                               ; preds = %32
  call void @llvm.lifetime.end.p0(i64 4, ptr %9) #6
  call void @llvm.lifetime.end.p0(i64 1024, ptr %7) #6
  ret void
}

; Function Attrs: nocallback nofree nounwind willreturn memory(argmem: write)
declare void @llvm.memset.p0.i64(ptr nocapture writeonly, i8, i64, i1 immarg) #4

; Function Attrs: nounwind uwtable
define dso_local i64 @pack(ptr noalias noundef %0, ptr noalias noundef %1, i64 noundef %2) #0 {
  %4 = alloca ptr, align 8
  %5 = alloca ptr, align 8
  %6 = alloca i64, align 8
  %7 = alloca ptr, align 8
  %8 = alloca ptr, align 8
  %9 = alloca ptr, align 8
  %10 = alloca i32, align 4
  %11 = alloca i64, align 8
  %12 = alloca i64, align 8
  %13 = alloca ptr, align 8
  %14 = alloca ptr, align 8
  %15 = alloca i64, align 8
  store ptr %0, ptr %4, align 8, !tbaa !5
  store ptr %1, ptr %5, align 8, !tbaa !5
  store i64 %2, ptr %6, align 8, !tbaa !9
  call void @llvm.lifetime.start.p0(i64 8, ptr %7) #6
  %16 = load ptr, ptr %5, align 8, !tbaa !5
  %17 = load i64, ptr %6, align 8, !tbaa !9
  %18 = getelementptr inbounds i8, ptr %16, i64 %17
  store ptr %18, ptr %7, align 8, !tbaa !5
  call void @llvm.lifetime.start.p0(i64 8, ptr %8) #6
  %19 = load ptr, ptr %4, align 8, !tbaa !5
  store ptr %19, ptr %8, align 8, !tbaa !5
  call void @llvm.lifetime.start.p0(i64 8, ptr %9) #6
  %20 = load ptr, ptr %5, align 8, !tbaa !5
  store ptr %20, ptr %9, align 8, !tbaa !5
  br label %21

21:                                               ; preds = %96, %3
  %22 = load ptr, ptr %9, align 8, !tbaa !5
  %23 = load ptr, ptr %7, align 8, !tbaa !5
  %24 = icmp ult ptr %22, %23
  br i1 %24, label %26, label %25

25:                                               ; preds = %21
  store i32 2, ptr %10, align 4
  call void @llvm.lifetime.end.p0(i64 8, ptr %9) #6
  br label %97

26:                                               ; preds = %21
  call void @llvm.lifetime.start.p0(i64 8, ptr %11) #6
  store i64 0, ptr %11, align 8, !tbaa !9
  call void @llvm.lifetime.start.p0(i64 8, ptr %12) #6
  store i64 0, ptr %12, align 8, !tbaa !9
  call void @llvm.lifetime.start.p0(i64 8, ptr %13) #6
  %27 = load ptr, ptr %9, align 8, !tbaa !5
  %28 = load ptr, ptr %5, align 8, !tbaa !5
  %29 = ptrtoint ptr %27 to i64
  %30 = ptrtoint ptr %28 to i64
  %31 = sub i64 %29, %30
  %32 = icmp sgt i64 %31, 4096
  br i1 %32, label %33, label %36

33:                                               ; preds = %26
  %34 = load ptr, ptr %9, align 8, !tbaa !5
  %35 = getelementptr inbounds i8, ptr %34, i64 -4096
  br label %38

36:                                               ; preds = %26
  %37 = load ptr, ptr %5, align 8, !tbaa !5
  br label %38

38:                                               ; preds = %36, %33
  %39 = phi ptr [ %35, %33 ], [ %37, %36 ]
  store ptr %39, ptr %13, align 8, !tbaa !5
  call void @llvm.lifetime.start.p0(i64 8, ptr %14) #6
  %40 = load ptr, ptr %13, align 8, !tbaa !5
  store ptr %40, ptr %14, align 8, !tbaa !5
  br label %41

41:                                               ; preds = %65, %38
  %42 = load ptr, ptr %14, align 8, !tbaa !5
  %43 = load ptr, ptr %9, align 8, !tbaa !5
  %44 = icmp ult ptr %42, %43
  br i1 %44, label %46, label %45

45:                                               ; preds = %41
  store i32 4, ptr %10, align 4
  call void @llvm.lifetime.end.p0(i64 8, ptr %14) #6
  br label %68

46:                                               ; preds = %41
  call void @llvm.lifetime.start.p0(i64 8, ptr %15) #6
  %47 = load ptr, ptr %14, align 8, !tbaa !5
  %48 = load ptr, ptr %9, align 8, !tbaa !5
  %49 = load ptr, ptr %7, align 8, !tbaa !5
  %50 = call i64 @equal_bytes(ptr noundef %47, ptr noundef %48, ptr noundef %49)
  store i64 %50, ptr %15, align 8, !tbaa !9
  %51 = load i64, ptr %15, align 8, !tbaa !9
  %52 = load i64, ptr %11, align 8, !tbaa !9
  %53 = icmp ugt i64 %51, %52
  br i1 %53, label %54, label %64

54:                                               ; preds = %46
  %55 = load i64, ptr %15, align 8, !tbaa !9
  %56 = icmp ult i64 %55, 256
  br i1 %56, label %57, label %64

57:                                               ; preds = %54
  %58 = load i64, ptr %15, align 8, !tbaa !9
  store i64 %58, ptr %11, align 8, !tbaa !9
  %59 = load ptr, ptr %9, align 8, !tbaa !5
  %60 = load ptr, ptr %14, align 8, !tbaa !5
  %61 = ptrtoint ptr %59 to i64
  %62 = ptrtoint ptr %60 to i64
  %63 = sub i64 %61, %62
  store i64 %63, ptr %12, align 8, !tbaa !9
  br label %64

64:                                               ; preds = %57, %54, %46
  call void @llvm.lifetime.end.p0(i64 8, ptr %15) #6
  br label %65

65:                                               ; preds = %64
  %66 = load ptr, ptr %14, align 8, !tbaa !5
  %67 = getelementptr inbounds i8, ptr %66, i32 1
  store ptr %67, ptr %14, align 8, !tbaa !5
  br label %41, !llvm.loop !30

68:                                               ; preds = %45
  %69 = load i64, ptr %11, align 8, !tbaa !9
  %70 = icmp uge i64 %69, 4
  br i1 %70, label %71, label %90

71:                                               ; preds = %68
  %72 = load ptr, ptr %8, align 8, !tbaa !5
  %73 = getelementptr inbounds i8, ptr %72, i32 1
  store ptr %73, ptr %8, align 8, !tbaa !5
  store i8 -1, ptr %72, align 1, !tbaa !20
  %74 = load i64, ptr %11, align 8, !tbaa !9
  %75 = trunc i64 %74 to i8
  %76 = load ptr, ptr %8, align 8, !tbaa !5
  %77 = getelementptr inbounds i8, ptr %76, i32 1
  store ptr %77, ptr %8, align 8, !tbaa !5
  store i8 %75, ptr %76, align 1, !tbaa !20
  %78 = load i64, ptr %12, align 8, !tbaa !9
  %79 = trunc i64 %78 to i8
  %80 = load ptr, ptr %8, align 8, !tbaa !5
  %81 = getelementptr inbounds i8, ptr %80, i32 1
  store ptr %81, ptr %8, align 8, !tbaa !5
  store i8 %79, ptr %80, align 1, !tbaa !20
  %82 = load i64, ptr %12, align 8, !tbaa !9
  %83 = lshr i64 %82, 8
  %84 = trunc i64 %83 to i8
  %85 = load ptr, ptr %8, align 8, !tbaa !5
  %86 = getelementptr inbounds i8, ptr %85, i32 1
  store ptr %86, ptr %8, align 8, !tbaa !5
  store i8 %84, ptr %85, align 1, !tbaa !20
  %87 = load i64, ptr %11, align 8, !tbaa !9
  %88 = load ptr, ptr %9, align 8, !tbaa !5
  %89 = getelementptr inbounds i8, ptr %88, i64 %87
  store ptr %89, ptr %9, align 8, !tbaa !5
  br label %96

90:                                               ; preds = %68
  %91 = load ptr, ptr %9, align 8, !tbaa !5
  %92 = getelementptr inbounds i8, ptr %91, i32 1
  store ptr %92, ptr %9, align 8, !tbaa !5
  %93 = load i8, ptr %91, align 1, !tbaa !20
  %94 = load ptr, ptr %8, align 8, !tbaa !5
  %95 = getelementptr inbounds i8, ptr %94, i32 1
  store ptr %95, ptr %8, align 8, !tbaa !5
  store i8 %93, ptr %94, align 1, !tbaa !20
  br label %96

96:                                               ; preds = %90, %71
  call void @llvm.lifetime.end.p0(i64 8, ptr %13) #6
  call void @llvm.lifetime.end.p0(i64 8, ptr %12) #6
  call void @llvm.lifetime.end.p0(i64 8, ptr %11) #6
  br label %21, !llvm.loop !31

97:                                               ; preds = %25
  %98 = load ptr, ptr %8, align 8, !tbaa !5
  %99 = load ptr, ptr %4, align 8, !tbaa !5
  %100 = ptrtoint ptr %98 to i64
  %101 = ptrtoint ptr %99 to i64
  %102 = sub i64 %100, %101
  store i32 1, ptr %10, align 4
  call void @llvm.lifetime.end.p0(i64 8, ptr %8) #6
  call void @llvm.lifetime.end.p0(i64 8, ptr %7) #6
  ret i64 %102
}

; Function Attrs: nounwind uwtable
define internal i64 @equal_bytes(ptr noundef %0, ptr noundef %1, ptr noundef %2) #0 {
  %4 = alloca ptr, align 8
  %5 = alloca ptr, align 8
  %6 = alloca ptr, align 8
  %7 = alloca i64, align 8
  store ptr %0, ptr %4, align 8, !tbaa !5
  store ptr %1, ptr %5, align 8, !tbaa !5
  store ptr %2, ptr %6, align 8, !tbaa !5
  call void @llvm.lifetime.start.p0(i64 8, ptr %7) #6
  store i64 0, ptr %7, align 8, !tbaa !9
  br label %8

8:                                                ; preds = %28, %3
  %9 = load ptr, ptr %5, align 8, !tbaa !5
  %10 = load i64, ptr %7, align 8, !tbaa !9
  %11 = getelementptr inbounds i8, ptr %9, i64 %10
  %12 = load ptr, ptr %6, align 8, !tbaa !5
  %13 = icmp ult ptr %11, %12
  br i1 %13, label %14, label %26

14:                                               ; preds = %8
  %15 = load ptr, ptr %4, align 8, !tbaa !5
  %16 = load i64, ptr %7, align 8, !tbaa !9
  %17 = getelementptr inbounds i8, ptr %15, i64 %16
  %18 = load i8, ptr %17, align 1, !tbaa !20
  %19 = zext i8 %18 to i32
  %20 = load ptr, ptr %5, align 8, !tbaa !5
  %21 = load i64, ptr %7, align 8, !tbaa !9
  %22 = getelementptr inbounds i8, ptr %20, i64 %21
  %23 = load i8, ptr %22, align 1, !tbaa !20
  %24 = zext i8 %23 to i32
  %25 = icmp eq i32 %19, %24
  br label %26

26:                                               ; preds = %14, %8
  %27 = phi i1 [ false, %8 ], [ %25, %14 ]
  br i1 %27, label %28, label %31

28:                                               ; preds = %26
  %29 = load i64, ptr %7, align 8, !tbaa !9
  %30 = add i64 %29, 1
  store i64 %30, ptr %7, align 8, !tbaa !9
  br label %8, !llvm.loop !32

31:                                               ; preds = %26
  %32 = load i64, ptr %7, align 8, !tbaa !9
  call void @llvm.lifetime.end.p0(i64 8, ptr %7) #6
  ret i64 %32
}

; Function Attrs: nounwind uwtable
define dso_local void @transform(ptr noalias noundef %0, ptr noalias noundef %1, ptr noalias noundef %2, i64 noundef %3) #0 {
  %5 = alloca ptr, align 8
  %6 = alloca ptr, align 8
  %7 = alloca ptr, align 8
  %8 = alloca i64, align 8
  %9 = alloca i64, align 8
  %10 = alloca i64, align 8
  %11 = alloca i32, align 4
  %12 = alloca i64, align 8
  %13 = alloca i64, align 8
  %14 = alloca i64, align 8
  %15 = alloca i64, align 8
  %16 = alloca double, align 8
  %17 = alloca double, align 8
  %18 = alloca double, align 8
  %19 = alloca double, align 8
  store ptr %0, ptr %5, align 8, !tbaa !5
  store ptr %1, ptr %6, align 8, !tbaa !5
  store ptr %2, ptr %7, align 8, !tbaa !5
  store i64 %3, ptr %8, align 8, !tbaa !9
  call void @llvm.lifetime.start.p0(i64 8, ptr %9) #6
  %20 = load i64, ptr %8, align 8, !tbaa !9
  %21 = udiv i64 %20, 2
  store i64 %21, ptr %9, align 8, !tbaa !9
  call void @llvm.lifetime.start.p0(i64 8, ptr %10) #6
  store i64 1, ptr %10, align 8, !tbaa !9
  br label %22

22:                                               ; preds = %125, %4
  %23 = load i64, ptr %9, align 8, !tbaa !9
  %24 = icmp ugt i64 %23, 0
  br i1 %24, label %26, label %25

25:                                               ; preds = %22
  store i32 2, ptr %11, align 4
  call void @llvm.lifetime.end.p0(i64 8, ptr %10) #6
  call void @llvm.lifetime.end.p0(i64 8, ptr %9) #6
  br label %130

26:                                               ; preds = %22
  call void @llvm.lifetime.start.p0(i64 8, ptr %12) #6
  store i64 0, ptr %12, align 8, !tbaa !9
  br label %27

27:                                               ; preds = %119, %26
  %28 = load i64, ptr %12, align 8, !tbaa !9
  %29 = load i64, ptr %8, align 8, !tbaa !9
  %30 = icmp ult i64 %28, %29
  br i1 %30, label %32, label %31

31:                                               ; preds = %27
  store i32 5, ptr %11, align 4
  call void @llvm.lifetime.end.p0(i64 8, ptr %12) #6
  br label %124

32:                                               ; preds = %27
  call void @llvm.lifetime.start.p0(i64 8, ptr %13) #6
  store i64 0, ptr %13, align 8, !tbaa !9
  br label %33

33:                                               ; preds = %115, %32
  %34 = load i64, ptr %13, align 8, !tbaa !9
  %35 = load i64, ptr %9, align 8, !tbaa !9
  %36 = icmp ult i64 %34, %35
  br i1 %36, label %38, label %37

37:                                               ; preds = %33
  store i32 8, ptr %11, align 4
  call void @llvm.lifetime.end.p0(i64 8, ptr %13) #6
  br label %118

38:                                               ; preds = %33
  call void @llvm.lifetime.start.p0(i64 8, ptr %14) #6
  %39 = load i64, ptr %12, align 8, !tbaa !9
  %40 = load i64, ptr %13, align 8, !tbaa !9
  %41 = add i64 %39, %40
  store i64 %41, ptr %14, align 8, !tbaa !9
  call void @llvm.lifetime.start.p0(i64 8, ptr %15) #6
  %42 = load i64, ptr %14, align 8, !tbaa !9
  %43 = load i64, ptr %9, align 8, !tbaa !9
  %44 = add i64 %42, %43
  store i64 %44, ptr %15, align 8, !tbaa !9
  call void @llvm.lifetime.start.p0(i64 8, ptr %16) #6
  %45 = load ptr, ptr %7, align 8, !tbaa !5
  %46 = load i64, ptr %13, align 8, !tbaa !9
  %47 = mul i64 2, %46
  %48 = load i64, ptr %10, align 8, !tbaa !9
  %49 = mul i64 %47, %48
  %50 = getelementptr inbounds double, ptr %45, i64 %49
  %51 = load double, ptr %50, align 8, !tbaa !33
  store double %51, ptr %16, align 8, !tbaa !33
  call void @llvm.lifetime.start.p0(i64 8, ptr %17) #6
  %52 = load ptr, ptr %7, align 8, !tbaa !5
  %53 = load i64, ptr %13, align 8, !tbaa !9
  %54 = mul i64 2, %53
  %55 = load i64, ptr %10, align 8, !tbaa !9
  %56 = mul i64 %54, %55
  %57 = add i64 %56, 1
  %58 = getelementptr inbounds double, ptr %52, i64 %57
  %59 = load double, ptr %58, align 8, !tbaa !33
  store double %59, ptr %17, align 8, !tbaa !33
  call void @llvm.lifetime.start.p0(i64 8, ptr %18) #6
  %60 = load ptr, ptr %5, align 8, !tbaa !5
  %61 = load i64, ptr %14, align 8, !tbaa !9
  %62 = getelementptr inbounds double, ptr %60, i64 %61
  %63 = load double, ptr %62, align 8, !tbaa !33
  %64 = load ptr, ptr %5, align 8, !tbaa !5
  %65 = load i64, ptr %15, align 8, !tbaa !9
  %66 = getelementptr inbounds double, ptr %64, i64 %65
  %67 = load double, ptr %66, align 8, !tbaa !33
  %68 = fsub double %63, %67
  store double %68, ptr %18, align 8, !tbaa !33
  call void @llvm.lifetime.start.p0(i64 8, ptr %19) #6
  %69 = load ptr, ptr %6, align 8, !tbaa !5
  %70 = load i64, ptr %14, align 8, !tbaa !9
  %71 = getelementptr inbounds double, ptr %69, i64 %70
  %72 = load double, ptr %71, align 8, !tbaa !33
  %73 = load ptr, ptr %6, align 8, !tbaa !5
  %74 = load i64, ptr %15, align 8, !tbaa !9
  %75 = getelementptr inbounds double, ptr %73, i64 %74
  %76 = load double, ptr %75, align 8, !tbaa !33
  %77 = fsub double %72, %76
  store double %77, ptr %19, align 8, !tbaa !33
  %78 = load ptr, ptr %5, align 8, !tbaa !5
  %79 = load i64, ptr %15, align 8, !tbaa !9
  %80 = getelementptr inbounds double, ptr %78, i64 %79
  %81 = load double, ptr %80, align 8, !tbaa !33
  %82 = load ptr, ptr %5, align 8, !tbaa !5
  %83 = load i64, ptr %14, align 8, !tbaa !9
  %84 = getelementptr inbounds double, ptr %82, i64 %83
  %85 = load double, ptr %84, align 8, !tbaa !33
  %86 = fadd double %85, %81
  store double %86, ptr %84, align 8, !tbaa !33
  %87 = load ptr, ptr %6, align 8, !tbaa !5
  %88 = load i64, ptr %15, align 8, !tbaa !9
  %89 = getelementptr inbounds double, ptr %87, i64 %88
  %90 = load double, ptr %89, align 8, !tbaa !33
  %91 = load ptr, ptr %6, align 8, !tbaa !5
  %92 = load i64, ptr %14, align 8, !tbaa !9
  %93 = getelementptr inbounds double, ptr %91, i64 %92
  %94 = load double, ptr %93, align 8, !tbaa !33
  %95 = fadd double %94, %90
  store double %95, ptr %93, align 8, !tbaa !33
  %96 = load double, ptr %18, align 8, !tbaa !33
  %97 = load double, ptr %16, align 8, !tbaa !33
  %98 = load double, ptr %19, align 8, !tbaa !33
  %99 = load double, ptr %17, align 8, !tbaa !33
  %100 = fmul double %98, %99
  %101 = fneg double %100
  %102 = call double @llvm.fmuladd.f64(double %96, double %97, double %101)
  %103 = load ptr, ptr %5, align 8, !tbaa !5
  %104 = load i64, ptr %15, align 8, !tbaa !9
  %105 = getelementptr inbounds double, ptr %103, i64 %104
  store double %102, ptr %105, align 8, !tbaa !33
  %106 = load double, ptr %18, align 8, !tbaa !33
  %107 = load double, ptr %17, align 8, !tbaa !33
  %108 = load double, ptr %19, align 8, !tbaa !33
  %109 = load double, ptr %16, align 8, !tbaa !33
  %110 = fmul double %108, %109
  %111 = call double @llvm.fmuladd.f64(double %106, double %107, double %110)
  %112 = load ptr, ptr %6, align 8, !tbaa !5
  %113 = load i64, ptr %15, align 8, !tbaa !9
  %114 = getelementptr inbounds double, ptr %112, i64 %113
  store double %111, ptr %114, align 8, !tbaa !33
  call void @llvm.lifetime.end.p0(i64 8, ptr %19) #6
  call void @llvm.lifetime.end.p0(i64 8, ptr %18) #6
  call void @llvm.lifetime.end.p0(i64 8, ptr %17) #6
  call void @llvm.lifetime.end.p0(i64 8, ptr %16) #6
  call void @llvm.lifetime.end.p0(i64 8, ptr %15) #6
  call void @llvm.lifetime.end.p0(i64 8, ptr %14) #6
  br label %115

115:                                              ; preds = %38
  %116 = load i64, ptr %13, align 8, !tbaa !9
  %117 = add i64 %116, 1
  store i64 %117, ptr %13, align 8, !tbaa !9
  br label %33, !llvm.loop !35

118:                                              ; preds = %37
  br label %119

119:                                              ; preds = %118
  %120 = load i64, ptr %9, align 8, !tbaa !9
  %121 = mul i64 2, %120
  %122 = load i64, ptr %12, align 8, !tbaa !9
  %123 = add i64 %122, %121
  store i64 %123, ptr %12, align 8, !tbaa !9
  br label %27, !llvm.loop !36

124:                                              ; preds = %31
  br label %125

125:                                              ; preds = %124
  %126 = load i64, ptr %9, align 8, !tbaa !9
  %127 = udiv i64 %126, 2
  store i64 %127, ptr %9, align 8, !tbaa !9
  %128 = load i64, ptr %10, align 8, !tbaa !9
  %129 = mul i64 %128, 2
  store i64 %129, ptr %10, align 8, !tbaa !9
  br label %22, !llvm.loop !37

130:                                              ; preds = %25
  ret void
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare double @llvm.fmuladd.f64(double, double, double) #2

; Function Attrs: nounwind uwtable
define dso_local void @attract(ptr noalias noundef %0, ptr noalias noundef %1, i64 noundef %2, double noundef %3) #0 {
  %5 = alloca ptr, align 8
  %6 = alloca ptr, align 8
  %7 = alloca i64, align 8
  %8 = alloca double, align 8
  %9 = alloca i64, align 8
  %10 = alloca i32, align 4
  %11 = alloca double, align 8
  %12 = alloca double, align 8
  %13 = alloca double, align 8
  %14 = alloca i64, align 8
  %15 = alloca double, align 8
  %16 = alloca double, align 8
  %17 = alloca double, align 8
  %18 = alloca double, align 8
  store ptr %0, ptr %5, align 8, !tbaa !5
  store ptr %1, ptr %6, align 8, !tbaa !5
  store i64 %2, ptr %7, align 8, !tbaa !9
  store double %3, ptr %8, align 8, !tbaa !33
  call void @llvm.lifetime.start.p0(i64 8, ptr %9) #6
  store i64 0, ptr %9, align 8, !tbaa !9
  br label %19

19:                                               ; preds = %121, %4
  %20 = load i64, ptr %9, align 8, !tbaa !9
  %21 = load i64, ptr %7, align 8, !tbaa !9
  %22 = icmp ult i64 %20, %21
  br i1 %22, label %24, label %23

23:                                               ; preds = %19
  store i32 2, ptr %10, align 4
  call void @llvm.lifetime.end.p0(i64 8, ptr %9) #6
  br label %124

24:                                               ; preds = %19
  call void @llvm.lifetime.start.p0(i64 8, ptr %11) #6
  store double 0.000000e+00, ptr %11, align 8, !tbaa !33
  call void @llvm.lifetime.start.p0(i64 8, ptr %12) #6
  store double 0.000000e+00, ptr %12, align 8, !tbaa !33
  call void @llvm.lifetime.start.p0(i64 8, ptr %13) #6
  store double 0.000000e+00, ptr %13, align 8, !tbaa !33
  call void @llvm.lifetime.start.p0(i64 8, ptr %14) #6
  store i64 0, ptr %14, align 8, !tbaa !9
  br label %25

25:                                               ; preds = %93, %24
  %26 = load i64, ptr %14, align 8, !tbaa !9
  %27 = load i64, ptr %7, align 8, !tbaa !9
  %28 = icmp ult i64 %26, %27
  br i1 %28, label %30, label %29

29:                                               ; preds = %25
  store i32 5, ptr %10, align 4
  call void @llvm.lifetime.end.p0(i64 8, ptr %14) #6
  br label %96

30:                                               ; preds = %25
  call void @llvm.lifetime.start.p0(i64 8, ptr %15) #6
  %31 = load ptr, ptr %6, align 8, !tbaa !5
  %32 = load i64, ptr %14, align 8, !tbaa !9
  %33 = getelementptr inbounds %struct.Body, ptr %31, i64 %32
  %34 = getelementptr inbounds %struct.Body, ptr %33, i32 0, i32 0
  %35 = load double, ptr %34, align 8, !tbaa !38
  %36 = load ptr, ptr %6, align 8, !tbaa !5
  %37 = load i64, ptr %9, align 8, !tbaa !9
  %38 = getelementptr inbounds %struct.Body, ptr %36, i64 %37
  %39 = getelementptr inbounds %struct.Body, ptr %38, i32 0, i32 0
  %40 = load double, ptr %39, align 8, !tbaa !38
  %41 = fsub double %35, %40
  store double %41, ptr %15, align 8, !tbaa !33
  call void @llvm.lifetime.start.p0(i64 8, ptr %16) #6
  %42 = load ptr, ptr %6, align 8, !tbaa !5
  %43 = load i64, ptr %14, align 8, !tbaa !9
  %44 = getelementptr inbounds %struct.Body, ptr %42, i64 %43
  %45 = getelementptr inbounds %struct.Body, ptr %44, i32 0, i32 1
  %46 = load double, ptr %45, align 8, !tbaa !40
  %47 = load ptr, ptr %6, align 8, !tbaa !5
  %48 = load i64, ptr %9, align 8, !tbaa !9
  %49 = getelementptr inbounds %struct.Body, ptr %47, i64 %48
  %50 = getelementptr inbounds %struct.Body, ptr %49, i32 0, i32 1
  %51 = load double, ptr %50, align 8, !tbaa !40
  %52 = fsub double %46, %51
  store double %52, ptr %16, align 8, !tbaa !33
  call void @llvm.lifetime.start.p0(i64 8, ptr %17) #6
  %53 = load ptr, ptr %6, align 8, !tbaa !5
  %54 = load i64, ptr %14, align 8, !tbaa !9
  %55 = getelementptr inbounds %struct.Body, ptr %53, i64 %54
  %56 = getelementptr inbounds %struct.Body, ptr %55, i32 0, i32 2
  %57 = load double, ptr %56, align 8, !tbaa !41
  %58 = load ptr, ptr %6, align 8, !tbaa !5
  %59 = load i64, ptr %9, align 8, !tbaa !9
  %60 = getelementptr inbounds %struct.Body, ptr %58, i64 %59
  %61 = getelementptr inbounds %struct.Body, ptr %60, i32 0, i32 2
  %62 = load double, ptr %61, align 8, !tbaa !41
  %63 = fsub double %57, %62
  store double %63, ptr %17, align 8, !tbaa !33
  call void @llvm.lifetime.start.p0(i64 8, ptr %18) #6
  %64 = load ptr, ptr %6, align 8, !tbaa !5
  %65 = load i64, ptr %14, align 8, !tbaa !9
  %66 = getelementptr inbounds %struct.Body, ptr %64, i64 %65
  %67 = getelementptr inbounds %struct.Body, ptr %66, i32 0, i32 3
  %68 = load double, ptr %67, align 8, !tbaa !42
  %69 = load double, ptr %15, align 8, !tbaa !33
  %70 = load double, ptr %15, align 8, !tbaa !33
  %71 = load double, ptr %16, align 8, !tbaa !33
  %72 = load double, ptr %16, align 8, !tbaa !33
  %73 = fmul double %71, %72
  %74 = call double @llvm.fmuladd.f64(double %69, double %70, double %73)
  %75 = load double, ptr %17, align 8, !tbaa !33
  %76 = load double, ptr %17, align 8, !tbaa !33
  %77 = call double @llvm.fmuladd.f64(double %75, double %76, double %74)
  %78 = fadd double %77, 1.000000e-09
  %79 = call double @inverse_cube(double noundef %78)
  %80 = fmul double %68, %79
  store double %80, ptr %18, align 8, !tbaa !33
  %81 = load double, ptr %15, align 8, !tbaa !33
  %82 = load double, ptr %18, align 8, !tbaa !33
  %83 = load double, ptr %11, align 8, !tbaa !33
  %84 = call double @llvm.fmuladd.f64(double %81, double %82, double %83)
  store double %84, ptr %11, align 8, !tbaa !33
  %85 = load double, ptr %16, align 8, !tbaa !33
  %86 = load double, ptr %18, align 8, !tbaa !33
  %87 = load double, ptr %12, align 8, !tbaa !33
  %88 = call double @llvm.fmuladd.f64(double %85, double %86, double %87)
  store double %88, ptr %12, align 8, !tbaa !33
  %89 = load double, ptr %17, align 8, !tbaa !33
  %90 = load double, ptr %18, align 8, !tbaa !33
  %91 = load double, ptr %13, align 8, !tbaa !33
  %92 = call double @llvm.fmuladd.f64(double %89, double %90, double %91)
  store double %92, ptr %13, align 8, !tbaa !33
  call void @llvm.lifetime.end.p0(i64 8, ptr %18) #6
  call void @llvm.lifetime.end.p0(i64 8, ptr %17) #6
  call void @llvm.lifetime.end.p0(i64 8, ptr %16) #6
  call void @llvm.lifetime.end.p0(i64 8, ptr %15) #6
  br label %93

93:                                               ; preds = %30
  %94 = load i64, ptr %14, align 8, !tbaa !9
  %95 = add i64 %94, 1
  store i64 %95, ptr %14, align 8, !tbaa !9
  br label %25, !llvm.loop !43

96:                                               ; preds = %29
  %97 = load double, ptr %8, align 8, !tbaa !33
  %98 = load double, ptr %11, align 8, !tbaa !33
  %99 = load ptr, ptr %5, align 8, !tbaa !5
  %100 = load i64, ptr %9, align 8, !tbaa !9
  %101 = getelementptr inbounds %struct.Body, ptr %99, i64 %100
  %102 = getelementptr inbounds %struct.Body, ptr %101, i32 0, i32 0
  %103 = load double, ptr %102, align 8, !tbaa !38
  %104 = call double @llvm.fmuladd.f64(double %97, double %98, double %103)
  store double %104, ptr %102, align 8, !tbaa !38
  %105 = load double, ptr %8, align 8, !tbaa !33
  %106 = load double, ptr %12, align 8, !tbaa !33
  %107 = load ptr, ptr %5, align 8, !tbaa !5
  %108 = load i64, ptr %9, align 8, !tbaa !9
  %109 = getelementptr inbounds %struct.Body, ptr %107, i64 %108
  %110 = getelementptr inbounds %struct.Body, ptr %109, i32 0, i32 1
  %111 = load double, ptr %110, align 8, !tbaa !40
  %112 = call double @llvm.fmuladd.f64(double %105, double %106, double %111)
  store double %112, ptr %110, align 8, !tbaa !40
  %113 = load double, ptr %8, align 8, !tbaa !33
  %114 = load double, ptr %13, align 8, !tbaa !33
  %115 = load ptr, ptr %5, align 8, !tbaa !5
  %116 = load i64, ptr %9, align 8, !tbaa !9
  %117 = getelementptr inbounds %struct.Body, ptr %115, i64 %116
  %118 = getelementptr inbounds %struct.Body, ptr %117, i32 0, i32 2
  %119 = load double, ptr %118, align 8, !tbaa !41
  %120 = call double @llvm.fmuladd.f64(double %113, double %114, double %119)
  store double %120, ptr %118, align 8, !tbaa !41
  call void @llvm.lifetime.end.p0(i64 8, ptr %13) #6
  call void @llvm.lifetime.end.p0(i64 8, ptr %12) #6
  call void @llvm.lifetime.end.p0(i64 8, ptr %11) #6
  br label %121

121:                                              ; preds = %96
  %122 = load i64, ptr %9, align 8, !tbaa !9
  %123 = add i64 %122, 1
  store i64 %123, ptr %9, align 8, !tbaa !9
  br label %19, !llvm.loop !44

124:                                              ; preds = %23
  ret void
}

; Function Attrs: nounwind uwtable
define internal double @inverse_cube(double noundef %0) #0 {
  %2 = alloca double, align 8
  %3 = alloca double, align 8
  store double %0, ptr %2, align 8, !tbaa !33
  call void @llvm.lifetime.start.p0(i64 8, ptr %3) #6
  %4 = load double, ptr %2, align 8, !tbaa !33
  %5 = call double @sqrt(double noundef %4) #6
  store double %5, ptr %3, align 8, !tbaa !33
  %6 = load double, ptr %3, align 8, !tbaa !33
  %7 = load double, ptr %2, align 8, !tbaa !33
  %8 = fmul double %6, %7
  %9 = fdiv double 1.000000e+00, %8
  call void @llvm.lifetime.end.p0(i64 8, ptr %3) #6
  ret double %9
}

; Function Attrs: nounwind uwtable
define dso_local i64 @encode(ptr noalias noundef %0, ptr noalias noundef %1, i64 noundef %2) #0 {
  %4 = alloca ptr, align 8
  %5 = alloca ptr, align 8
  %6 = alloca i64, align 8
  %7 = alloca i64, align 8
  %8 = alloca i64, align 8
  %9 = alloca i32, align 4
  %10 = alloca i32, align 4
  %11 = alloca i32, align 4
  store ptr %0, ptr %4, align 8, !tbaa !5
  store ptr %1, ptr %5, align 8, !tbaa !5
  store i64 %2, ptr %6, align 8, !tbaa !9
  call void @llvm.lifetime.start.p0(i64 8, ptr %7) #6
  store i64 0, ptr %7, align 8, !tbaa !9
  call void @llvm.lifetime.start.p0(i64 8, ptr %8) #6
  store i64 0, ptr %8, align 8, !tbaa !9
  br label %12

12:                                               ; preds = %60, %3
  %13 = load i64, ptr %8, align 8, !tbaa !9
  %14 = add i64 %13, 3
  %15 = load i64, ptr %6, align 8, !tbaa !9
  %16 = icmp ule i64 %14, %15
  br i1 %16, label %18, label %17

17:                                               ; preds = %12
  store i32 2, ptr %9, align 4
  call void @llvm.lifetime.end.p0(i64 8, ptr %8) #6
  br label %63

18:                                               ; preds = %12
  call void @llvm.lifetime.start.p0(i64 4, ptr %10) #6
  %19 = load ptr, ptr %5, align 8, !tbaa !5
  %20 = load i64, ptr %8, align 8, !tbaa !9
  %21 = getelementptr inbounds i8, ptr %19, i64 %20
  %22 = load i8, ptr %21, align 1, !tbaa !20
  %23 = zext i8 %22 to i32
  %24 = shl i32 %23, 16
  %25 = load ptr, ptr %5, align 8, !tbaa !5
  %26 = load i64, ptr %8, align 8, !tbaa !9
  %27 = add i64 %26, 1
  %28 = getelementptr inbounds i8, ptr %25, i64 %27
  %29 = load i8, ptr %28, align 1, !tbaa !20
  %30 = zext i8 %29 to i32
  %31 = shl i32 %30, 8
  %32 = or i32 %24, %31
  %33 = load ptr, ptr %5, align 8, !tbaa !5
  %34 = load i64, ptr %8, align 8, !tbaa !9
  %35 = add i64 %34, 2
  %36 = getelementptr inbounds i8, ptr %33, i64 %35
  %37 = load i8, ptr %36, align 1, !tbaa !20
  %38 = zext i8 %37 to i32
  %39 = or i32 %32, %38
  store i32 %39, ptr %10, align 4, !tbaa !18
  call void @llvm.lifetime.start.p0(i64 4, ptr %11) #6
  store i32 18, ptr %11, align 4, !tbaa !18
  br label %40

40:                                               ; preds = %56, %18
  %41 = load i32, ptr %11, align 4, !tbaa !18
  %42 = icmp sge i32 %41, 0
  br i1 %42, label %44, label %43

43:                                               ; preds = %40
  store i32 5, ptr %9, align 4
  call void @llvm.lifetime.end.p0(i64 4, ptr %11) #6
  br label %59

44:                                               ; preds = %40
  %45 = load i32, ptr %10, align 4, !tbaa !18
  %46 = load i32, ptr %11, align 4, !tbaa !18
  %47 = lshr i32 %45, %46
  %48 = and i32 %47, 63
  %49 = zext i32 %48 to i64
  %50 = getelementptr inbounds [65 x i8], ptr @digits, i64 0, i64 %49
  %51 = load i8, ptr %50, align 1, !tbaa !20
  %52 = load ptr, ptr %4, align 8, !tbaa !5
  %53 = load i64, ptr %7, align 8, !tbaa !9
  %54 = add i64 %53, 1
  store i64 %54, ptr %7, align 8, !tbaa !9
  %55 = getelementptr inbounds i8, ptr %52, i64 %53
  store i8 %51, ptr %55, align 1, !tbaa !20
  br label %56

56:                                               ; preds = %44
  %57 = load i32, ptr %11, align 4, !tbaa !18
  %58 = sub nsw i32 %57, 6
  store i32 %58, ptr %11, align 4, !tbaa !18
  br label %40, !llvm.loop !45

59:                                               ; preds = %43
  call void @llvm.lifetime.end.p0(i64 4, ptr %10) #6
  br label %60

60:                                               ; preds = %59
  %61 = load i64, ptr %8, align 8, !tbaa !9
  %62 = add i64 %61, 3
  store i64 %62, ptr %8, align 8, !tbaa !9
  br label %12, !llvm.loop !46

63:                                               ; preds = %17
  %64 = load i64, ptr %7, align 8, !tbaa !9
  store i32 1, ptr %9, align 4
  call void @llvm.lifetime.end.p0(i64 8, ptr %7) #6
  ret i64 %64
}

; Function Attrs: inlinehint nounwind uwtable
define internal i32 @rotated(i32 noundef %0, i32 noundef %1) #3 {
  %3 = alloca i32, align 4
  %4 = alloca i32, align 4
  store i32 %0, ptr %3, align 4, !tbaa !18
  store i32 %1, ptr %4, align 4, !tbaa !18
  %5 = load i32, ptr %3, align 4, !tbaa !18
  %6 = load i32, ptr %4, align 4, !tbaa !18
  %7 = shl i32 %5, %6
  %8 = load i32, ptr %3, align 4, !tbaa !18
  %9 = load i32, ptr %4, align 4, !tbaa !18
  %10 = sub i32 32, %9
  %11 = lshr i32 %8, %10
  %12 = or i32 %7, %11
  ret i32 %12
}

; Function Attrs: nounwind
declare double @sqrt(double noundef) #5

attributes #0 = { nounwind uwtable "min-legal-vector-width"="0" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="x86-64" "target-features"="+cmov,+cx8,+fxsr,+mmx,+sse,+sse2,+x87" "tune-cpu"="generic" }
attributes #1 = { nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #2 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #3 = { inlinehint nounwind uwtable "min-legal-vector-width"="0" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="x86-64" "target-features"="+cmov,+cx8,+fxsr,+mmx,+sse,+sse2,+x87" "tune-cpu"="generic" }
attributes #4 = { nocallback nofree nounwind willreturn memory(argmem: write) }
attributes #5 = { nounwind "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="x86-64" "target-features"="+cmov,+cx8,+fxsr,+mmx,+sse,+sse2,+x87" "tune-cpu"="generic" }
attributes #6 = { nounwind }

!llvm.module.flags = !{!0, !1, !2, !3}
!llvm.ident = !{!4}

!0 = !{i32 1, !"wchar_size", i32 4}
!1 = !{i32 8, !"PIC Level", i32 2}
!2 = !{i32 7, !"PIE Level", i32 2}
!3 = !{i32 7, !"uwtable", i32 2}
!4 = !{!"Debian clang version 19.1.7 (3~deb12u1)"}
!5 = !{!6, !6, i64 0}
!6 = !{!"any pointer", !7, i64 0}
!7 = !{!"omnipotent char", !8, i64 0}
!8 = !{!"Simple C/C++ TBAA"}
!9 = !{!10, !10, i64 0}
!10 = !{!"long", !7, i64 0}
!11 = !{!12, !12, i64 0}
!12 = !{!"float", !7, i64 0}
!13 = distinct !{!13, !14}
!14 = !{!"llvm.loop.mustprogress"}
!15 = distinct !{!15, !14}
!16 = distinct !{!16, !14}
!17 = distinct !{!17, !14}
!18 = !{!19, !19, i64 0}
!19 = !{!"int", !7, i64 0}
!20 = !{!7, !7, i64 0}
!21 = distinct !{!21, !14}
!22 = distinct !{!22, !14}
!23 = distinct !{!23, !14}
!24 = distinct !{!24, !14}
!25 = distinct !{!25, !14}
!26 = distinct !{!26, !14}
!27 = distinct !{!27, !14}
!28 = distinct !{!28, !14}
!29 = distinct !{!29, !14}
!30 = distinct !{!30, !14}
!31 = distinct !{!31, !14}
!32 = distinct !{!32, !14}
!33 = !{!34, !34, i64 0}
!34 = !{!"double", !7, i64 0}
!35 = distinct !{!35, !14}
!36 = distinct !{!36, !14}
!37 = distinct !{!37, !14}
!38 = !{!39, !34, i64 0}
!39 = !{!"", !34, i64 0, !34, i64 8, !34, i64 16, !34, i64 24}
!40 = !{!39, !34, i64 8}
!41 = !{!39, !34, i64 16}
!42 = !{!39, !34, i64 24}
!43 = distinct !{!43, !14}
!44 = distinct !{!44, !14}
!45 = distinct !{!45, !14}
!46 = distinct !{!46, !14}
