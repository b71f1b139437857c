// Finds bytes by some of their bits, sixteen at a time: of 40 MB of code, one byte in thirty is worth a look.
#pragma once

#include <emmintrin.h>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace optctx::arch {

// Calls `found(pointer)` for every byte in [begin, end) with (byte & mask) == value, in order.
template <class Found>
void for_bytes(const std::uint8_t* begin, const std::uint8_t* end, std::uint8_t mask, std::uint8_t value, Found found) {
    constexpr std::ptrdiff_t wide = sizeof(__m128i);
    const __m128i masks = _mm_set1_epi8(static_cast<char>(mask));
    const __m128i values = _mm_set1_epi8(static_cast<char>(value));
    const std::uint8_t* at = begin;
    for (; end - at >= wide; at += wide) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
        auto hits = static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_and_si128(bytes, masks), values)));
        for (; hits != 0; hits &= hits - 1) found(at + std::countr_zero(hits));
    }
    for (; at < end; ++at)
        if ((*at & mask) == value) found(at);
}

}  // namespace optctx::arch
