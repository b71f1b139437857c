// Numbers in code; and bytes by some of their bits, many at a time: of 84 MB of code, one in thirty is worth a look.
#pragma once

#include <immintrin.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace optctx::arch {

template <class T>
T read(const std::uint8_t* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

// Where the 32-bit distance at `at` leads that counts from `next`.
inline std::uintptr_t target_of(std::uintptr_t next, const std::uint8_t* at) {
    return next + static_cast<std::uintptr_t>(std::intptr_t{read<std::int32_t>(at)});
}

namespace detail {

// Return the first byte that is not looked at: fewer are left than are looked at together.
template <class Found>
const std::uint8_t* for_bytes_sse2(const std::uint8_t* at, const std::uint8_t* end, std::uint8_t mask,
                                   std::uint8_t value, Found& found) {
    constexpr std::ptrdiff_t wide = sizeof(__m128i);
    const __m128i masks = _mm_set1_epi8(static_cast<char>(mask));
    const __m128i values = _mm_set1_epi8(static_cast<char>(value));
    for (; end - at >= wide; at += wide) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
        auto hits = static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_and_si128(bytes, masks), values)));
        for (; hits != 0; hits &= hits - 1) found(at + std::countr_zero(hits));
    }
    return at;
}

template <class Found>
__attribute__((target("avx2,bmi"))) const std::uint8_t* for_bytes_avx2(const std::uint8_t* at, const std::uint8_t* end,
                                                                       std::uint8_t mask, std::uint8_t value,
                                                                       Found& found) {
    constexpr std::ptrdiff_t wide = sizeof(__m256i);
    const __m256i masks = _mm256_set1_epi8(static_cast<char>(mask));
    const __m256i values = _mm256_set1_epi8(static_cast<char>(value));
    for (; end - at >= wide; at += wide) {
        const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
        auto hits =
            static_cast<unsigned>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_and_si256(bytes, masks), values)));
        for (; hits != 0; hits &= hits - 1) found(at + std::countr_zero(hits));
    }
    return at;
}

}  // namespace detail

// Calls `found(pointer)` for every byte in [begin, end) with (byte & mask) == value, in order.
template <class Found>
void for_bytes(const std::uint8_t* begin, const std::uint8_t* end, std::uint8_t mask, std::uint8_t value, Found found) {
    const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi");
    const std::uint8_t* at = has_avx2 ? detail::for_bytes_avx2(begin, end, mask, value, found)
                                      : detail::for_bytes_sse2(begin, end, mask, value, found);
    for (; at < end; ++at)
        if ((*at & mask) == value) found(at);
}

}  // namespace optctx::arch
