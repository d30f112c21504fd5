/* Hadamard transforms by sums and differences: with H the matrix of +1 and -1 whose entry (i, j) is
   the parity of i & j, H y takes log2(m) steps, each of sums and differences of words 1, 2, 4, ...
   apart. Words wrap, so steps may be done in any order, and several of them in one pass.

   This file is part of the compiled library and of the headers that primal.edge writes. Before it
   comes `primal_word`, a word or a vector of words of several rows, primal_pair(a, b), which
   replaces a and b by a + b and a - b, and PRIMAL_RADIX, the most words of one pass. */
#ifndef PRIMAL_BUTTERFLIES_H
#define PRIMAL_BUTTERFLIES_H

/* Loops over words of one pass have to disappear, so that these words are registers. */
#if defined(__GNUC__) && !defined(__OPTIMIZE_SIZE__)
#define PRIMAL_INLINE static inline __attribute__((always_inline))
#define PRIMAL_UNROLL _Pragma("GCC unroll 16")
#else
#define PRIMAL_INLINE static inline
#define PRIMAL_UNROLL
#endif

/* All steps of n words, n a power of two. */
PRIMAL_INLINE void primal_butterflies(primal_word *words, uint32_t n)
{
    uint32_t half, i;
    PRIMAL_UNROLL
    for (half = 1; half < n; half *= 2)
        PRIMAL_UNROLL
        for (i = 0; i < n; i++)
            if (!(i & half))
                primal_pair(words + i, words + i + half);
}

/* The steps of n words that are `stride` apart. */
PRIMAL_INLINE void primal_pass(primal_word *words, uint32_t stride, uint32_t n)
{
    primal_word some[PRIMAL_RADIX];
    uint32_t i;
    PRIMAL_UNROLL
    for (i = 0; i < n; i++)
        some[i] = words[i * stride];
    primal_butterflies(some, n);
    PRIMAL_UNROLL
    for (i = 0; i < n; i++)
        words[i * stride] = some[i];
}

/* The steps of words `half`, 2 `half`, ..., `size` / 2 apart, of words begin, ..., end - 1. */
static inline void primal_steps(primal_word *words, uint32_t begin, uint32_t end, uint32_t half,
                                uint32_t size)
{
    while (half < size) {
        uint32_t n = size / half < PRIMAL_RADIX ? size / half : PRIMAL_RADIX, first, i;
        for (first = begin; first < end; first += n * half)
            for (i = first; i < first + half; i++) {
#if PRIMAL_RADIX > 8
                if (n == 16)
                    primal_pass(words + i, half, 16);
                else
#endif
#if PRIMAL_RADIX > 4
                if (n == 8)
                    primal_pass(words + i, half, 8);
                else
#endif
#if PRIMAL_RADIX > 2
                if (n == 4)
                    primal_pass(words + i, half, 4);
                else
#endif
                    primal_pass(words + i, half, 2);
            }
        half *= n;
    }
}
#endif
