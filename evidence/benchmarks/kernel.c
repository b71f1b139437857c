// What a tuning benchmark compiles: filters, sorting, coding, a transform and bodies that attract each other, in 200 lines.
#include <stddef.h>
#include <stdint.h>

enum { SYMBOLS = 256, WINDOW = 4096, SHORTEST = 4 };

typedef struct {
  double x, y, z, mass;
} Body;

// The sum of products, as the innermost loop of a filter.
static float dot(const float *a, const float *b, size_t n) {
  float sum = 0.0f;
  for (size_t i = 0; i < n; i++)
    sum += a[i] * b[i];
  return sum;
}

void filter(float *restrict out, const float *restrict in, const float *restrict taps, size_t n, size_t width) {
  for (size_t i = 0; i + width <= n; i++)
    out[i] = dot(in + i, taps, width);
}

static float limit(float value, float least, float most) {
  if (value < least)
    return least;
  return value > most ? most : value;
}

// Sharpens an image: each point against the mean of its neighbours.
void sharpen(float *restrict out, const float *restrict in, size_t rows, size_t columns, float amount) {
  for (size_t row = 1; row + 1 < rows; row++)
    for (size_t column = 1; column + 1 < columns; column++) {
      const float *at = &in[row * columns + column];
      float around = at[-1] + at[1] + *(at - columns) + at[columns];
      float detail = at[0] - 0.25f * around;
      out[row * columns + column] = limit(at[0] + amount * detail, 0.0f, 1.0f);
    }
}

static inline uint32_t rotated(uint32_t value, unsigned by) { return value << by | value >> (32 - by); }

static inline uint32_t mixed(uint32_t state, uint32_t word) {
  word *= 0xcc9e2d51u;
  word = rotated(word, 15) * 0x1b873593u;
  return rotated(state ^ word, 13) * 5 + 0xe6546b64u;
}

uint32_t hash(const uint8_t *data, size_t n, uint32_t seed) {
  uint32_t state = seed;
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    uint32_t word = data[i] | (uint32_t)data[i + 1] << 8 | (uint32_t)data[i + 2] << 16 | (uint32_t)data[i + 3] << 24;
    state = mixed(state, word);
  }
  uint32_t rest = 0;
  for (unsigned at = 0; i < n; i++, at += 8)
    rest |= (uint32_t)data[i] << at;
  state = mixed(state, rest) ^ (uint32_t)n;
  state = (state ^ state >> 16) * 0x85ebca6bu;
  state = (state ^ state >> 13) * 0xc2b2ae35u;
  return state ^ state >> 16;
}

static void exchange(int32_t *a, int32_t *b) {
  int32_t kept = *a;
  *a = *b;
  *b = kept;
}

static void insert_all(int32_t *data, size_t n) {
  for (size_t i = 1; i < n; i++)
    for (size_t k = i; k > 0 && data[k - 1] > data[k]; k--)
      exchange(&data[k - 1], &data[k]);
}

void sort(int32_t *data, size_t n) {
  while (n > 16) {
    size_t middle = n / 2;
    if (data[0] > data[middle])
      exchange(&data[0], &data[middle]);
    if (data[middle] > data[n - 1])
      exchange(&data[middle], &data[n - 1]);
    int32_t pivot = data[middle];
    size_t low = 0, high = n - 1;
    for (;;) {
      while (data[low] < pivot)
        low++;
      while (data[high] > pivot)
        high--;
      if (low >= high)
        break;
      exchange(&data[low++], &data[high--]);
    }
    sort(data, low);
    data += low;
    n -= low;
  }
  insert_all(data, n);
}

// How often each byte occurs, and the sums of that: where each one begins when they are sorted.
void count(uint32_t *restrict starts, const uint8_t *restrict data, size_t n) {
  uint32_t found[SYMBOLS] = {0};
  for (size_t i = 0; i < n; i++)
    found[data[i]]++;
  uint32_t sum = 0;
  for (size_t symbol = 0; symbol < SYMBOLS; symbol++) {
    starts[symbol] = sum;
    sum += found[symbol];
  }
}

static size_t equal_bytes(const uint8_t *a, const uint8_t *b, const uint8_t *end) {
  size_t n = 0;
  while (b + n < end && a[n] == b[n])
    n++;
  return n;
}

// Replaces what occurred before by how far back and how long it is.
size_t pack(uint8_t *restrict out, const uint8_t *restrict in, size_t n) {
  const uint8_t *end = in + n;
  uint8_t *to = out;
  for (const uint8_t *at = in; at < end;) {
    size_t longest = 0, back = 0;
    const uint8_t *first = at - in > WINDOW ? at - WINDOW : in;
    for (const uint8_t *from = first; from < at; from++) {
      size_t length = equal_bytes(from, at, end);
      if (length > longest && length < 256) {
        longest = length;
        back = (size_t)(at - from);
      }
    }
    if (longest >= SHORTEST) {
      *to++ = 0xff;
      *to++ = (uint8_t)longest;
      *to++ = (uint8_t)back;
      *to++ = (uint8_t)(back >> 8);
      at += longest;
    } else {
      *to++ = *at++;
    }
  }
  return (size_t)(to - out);
}

// A step of a Fourier transform of a power of two, with its roots in a table.
void transform(double *restrict re, double *restrict im, const double *restrict roots, size_t n) {
  for (size_t half = n / 2, stride = 1; half > 0; half /= 2, stride *= 2)
    for (size_t group = 0; group < n; group += 2 * half)
      for (size_t i = 0; i < half; i++) {
        size_t a = group + i, b = a + half;
        double c = roots[2 * i * stride], s = roots[2 * i * stride + 1];
        double dr = re[a] - re[b], di = im[a] - im[b];
        re[a] += re[b];
        im[a] += im[b];
        re[b] = dr * c - di * s;
        im[b] = dr * s + di * c;
      }
}

static double inverse_cube(double square) {
  double root = __builtin_sqrt(square);
  return 1.0 / (root * square);
}

// How each body moves because of all others.
void attract(Body *restrict speeds, const Body *restrict bodies, size_t n, double step) {
  for (size_t i = 0; i < n; i++) {
    double x = 0.0, y = 0.0, z = 0.0;
    for (size_t k = 0; k < n; k++) {
      double dx = bodies[k].x - bodies[i].x;
      double dy = bodies[k].y - bodies[i].y;
      double dz = bodies[k].z - bodies[i].z;
      double pull = bodies[k].mass * inverse_cube(dx * dx + dy * dy + dz * dz + 1e-9);
      x += dx * pull;
      y += dy * pull;
      z += dz * pull;
    }
    speeds[i].x += step * x;
    speeds[i].y += step * y;
    speeds[i].z += step * z;
  }
}

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

size_t encode(char *restrict out, const uint8_t *restrict in, size_t n) {
  size_t to = 0;
  for (size_t i = 0; i + 3 <= n; i += 3) {
    uint32_t three = (uint32_t)in[i] << 16 | (uint32_t)in[i + 1] << 8 | in[i + 2];
    for (int shift = 18; shift >= 0; shift -= 6)
      out[to++] = digits[three >> shift & 63];
  }
  return to;
}
