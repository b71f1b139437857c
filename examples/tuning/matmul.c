// c = a * b, of row-major matrices. Each element is a dot product whose sum may be taken in any order: vectors,
// interleaving and unrolling decide how many products are under way at once. b is transposed, so both are read in rows.
#include <stddef.h>

void matmul(float *restrict c, const float *restrict a, const float *restrict b, size_t n) {
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) {
#pragma clang fp reassociate(on)
      float sum = 0.0f;
      for (size_t k = 0; k < n; k++)
        sum += a[i * n + k] * b[j * n + k];
      c[i * n + j] = sum;
    }
}
