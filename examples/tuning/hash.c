// The sum of a hash of every 32-byte record. Each record is mixed by itself, so several can be under way at once: by
// interleaving and unrolling the outer loop, and by vectors of 32-bit products.
#include <stddef.h>
#include <stdint.h>

enum { RECORDS = 1024, WORDS = 8 };

static uint32_t mix(uint32_t hash, uint32_t word) {
  word *= 0xcc9e2d51u;
  word = word << 15 | word >> 17;
  word *= 0x1b873593u;
  hash ^= word;
  hash = hash << 13 | hash >> 19;
  return hash * 5 + 0xe6546b64u;
}

static uint32_t finish(uint32_t hash) {
  hash ^= hash >> 16;
  hash *= 0x85ebca6bu;
  hash ^= hash >> 13;
  hash *= 0xc2b2ae35u;
  return hash ^ hash >> 16;
}

uint32_t hash(const uint32_t *restrict records, uint32_t seed) {
  uint32_t sum = 0;
  for (size_t record = 0; record < RECORDS; record++) {
    uint32_t hash = seed;
    for (size_t word = 0; word < WORDS; word++)
      hash = mix(hash, records[record * WORDS + word]);
    sum += finish(hash);
  }
  return sum;
}
