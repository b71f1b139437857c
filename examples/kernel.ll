; Three kernels whose code depends on how far LLVM unrolls and how wide it vectorises.
; No triple: it compiles for whatever target is asked for.

; out[i][j] = sum over k of a[i][k] * b[k][j], for n x n matrices in row order.
; The innermost loop runs along j, so that its loads and stores are contiguous.
define void @matmul(ptr noalias nocapture writeonly %out, ptr noalias nocapture readonly %a,
                    ptr noalias nocapture readonly %b, i64 %n) {
entry:
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %rows, label %done

rows:                                             ; for i
  %i = phi i64 [ 0, %entry ], [ %i.next, %rows.end ]
  %row = mul nuw nsw i64 %i, %n
  %out.row = getelementptr inbounds float, ptr %out, i64 %row
  %a.row = getelementptr inbounds float, ptr %a, i64 %row
  %bytes = shl nuw nsw i64 %n, 2
  call void @llvm.memset.p0.i64(ptr align 4 %out.row, i8 0, i64 %bytes, i1 false)
  br label %inner

inner:                                            ; for k
  %k = phi i64 [ 0, %rows ], [ %k.next, %inner.end ]
  %a.at = getelementptr inbounds float, ptr %a.row, i64 %k
  %scale = load float, ptr %a.at, align 4
  %b.offset = mul nuw nsw i64 %k, %n
  %b.row = getelementptr inbounds float, ptr %b, i64 %b.offset
  br label %columns

columns:                                          ; for j
  %j = phi i64 [ 0, %inner ], [ %j.next, %columns ]
  %b.at = getelementptr inbounds float, ptr %b.row, i64 %j
  %b.value = load float, ptr %b.at, align 4
  %out.at = getelementptr inbounds float, ptr %out.row, i64 %j
  %before = load float, ptr %out.at, align 4
  %product = fmul contract float %scale, %b.value
  %after = fadd contract float %before, %product
  store float %after, ptr %out.at, align 4
  %j.next = add nuw nsw i64 %j, 1
  %j.more = icmp slt i64 %j.next, %n
  br i1 %j.more, label %columns, label %inner.end

inner.end:
  %k.next = add nuw nsw i64 %k, 1
  %k.more = icmp slt i64 %k.next, %n
  br i1 %k.more, label %inner, label %rows.end

rows.end:
  %i.next = add nuw nsw i64 %i, 1
  %i.more = icmp slt i64 %i.next, %n
  br i1 %i.more, label %rows, label %done

done:
  ret void
}

; Sum of squared differences; `reassoc` lets the vectoriser keep several partial sums.
define float @distance(ptr noalias nocapture readonly %x, ptr noalias nocapture readonly %y, i64 %n) {
entry:
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %loop, label %done

loop:
  %i = phi i64 [ 0, %entry ], [ %i.next, %loop ]
  %sum = phi float [ 0.0, %entry ], [ %sum.next, %loop ]
  %x.at = getelementptr inbounds float, ptr %x, i64 %i
  %x.value = load float, ptr %x.at, align 4
  %y.at = getelementptr inbounds float, ptr %y, i64 %i
  %y.value = load float, ptr %y.at, align 4
  %difference = fsub reassoc contract float %x.value, %y.value
  %square = fmul reassoc contract float %difference, %difference
  %sum.next = fadd reassoc contract float %sum, %square
  %i.next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %i.next, %n
  br i1 %more, label %loop, label %done

done:
  %result = phi float [ 0.0, %entry ], [ %sum.next, %loop ]
  ret float %result
}

; One step of a three-point smoothing filter over the inner n - 2 points:
; out[i] = (in[i - 1] + 2 * in[i] + in[i + 1]) / 4
define void @smooth(ptr noalias nocapture writeonly %out, ptr noalias nocapture readonly %in, i64 %n) {
entry:
  %last = add nsw i64 %n, -1
  %some = icmp sgt i64 %last, 1
  br i1 %some, label %loop, label %done

loop:
  %i = phi i64 [ 1, %entry ], [ %i.next, %loop ]
  %middle.at = getelementptr inbounds float, ptr %in, i64 %i
  %left.at = getelementptr inbounds i8, ptr %middle.at, i64 -4
  %right.at = getelementptr inbounds i8, ptr %middle.at, i64 4
  %left = load float, ptr %left.at, align 4
  %middle = load float, ptr %middle.at, align 4
  %right = load float, ptr %right.at, align 4
  %twice = fmul float %middle, 2.0
  %sides = fadd float %left, %right
  %total = fadd float %sides, %twice
  %mean = fmul float %total, 2.5e-1
  %out.at = getelementptr inbounds float, ptr %out, i64 %i
  store float %mean, ptr %out.at, align 4
  %i.next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %i.next, %last
  br i1 %more, label %loop, label %done

done:
  ret void
}

declare void @llvm.memset.p0.i64(ptr nocapture writeonly, i8, i64, i1 immarg)
