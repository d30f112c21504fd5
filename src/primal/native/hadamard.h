/* What the transforms of float32 and of float64 features share: the table, and vectors of words. */
#ifndef PRIMAL_HADAMARD_H
#define PRIMAL_HADAMARD_H

#include "write.h"

typedef struct {
    i64 d, m, n_blocks, skip, k;
    u64 whole;          /* the scale is c = whole 2**power */
    i64 power;
    const u64 *signs;   /* (1 + 2 n_blocks, m), all bits set for minus: S1, S2 and S3 of each block */
    const u64 *factors; /* (n_blocks m,) */
} primal_hadamard;

/* One register of words, and the same at any address. */
typedef u64 words __attribute__((vector_size(8 * WORDS), may_alias));
typedef u64 loose_words __attribute__((vector_size(8 * WORDS), aligned(8), may_alias));
typedef i64 signed_words __attribute__((vector_size(8 * WORDS), may_alias));

/* Transpose a square of words: exchange squares of 1, 2, 4, ... words beside the diagonal. */
#define EXCHANGE(HALF, LOW, HIGH)                                                                  \
    UNROLL for (int i = 0; i < WORDS; i++) if (!(i & HALF)) {                                      \
        words a = square[i], b = square[i + HALF];                                           \
        square[i] = __builtin_shufflevector(a, b, LOW);                                            \
        square[i + HALF] = __builtin_shufflevector(a, b, HIGH);                                    \
    }
#define LIST(...) __VA_ARGS__
INLINE void transpose(words *square)
{
#if defined(__AVX512F__)
    EXCHANGE(1, LIST(0, 8, 2, 10, 4, 12, 6, 14), LIST(1, 9, 3, 11, 5, 13, 7, 15))
    EXCHANGE(2, LIST(0, 1, 8, 9, 4, 5, 12, 13), LIST(2, 3, 10, 11, 6, 7, 14, 15))
    EXCHANGE(4, LIST(0, 1, 2, 3, 8, 9, 10, 11), LIST(4, 5, 6, 7, 12, 13, 14, 15))
#elif defined(__AVX2__)
    EXCHANGE(1, LIST(0, 4, 2, 6), LIST(1, 5, 3, 7))
    EXCHANGE(2, LIST(0, 1, 4, 5), LIST(2, 3, 6, 7))
#else
    EXCHANGE(1, LIST(0, 2), LIST(1, 3))
#endif
}

/* Memory for vectors, which begin at a multiple of their size; `freed` is what to free. */
INLINE void *aligned_memory(size_t bytes, void **freed)
{
    char *memory = malloc(bytes + 64);
    *freed = memory;
    return memory ? memory + (-(uintptr_t)memory & 63) : NULL;
}

/* floor(|x| c 2**n_bits + 1/2) mod 2**128, for x given by the bits of its float64. */
INLINE u128 scaled_size(u64 bits, u64 whole, i64 power, i64 n_bits)
{
    u64 mantissa = bits & (((u64)1 << 52) - 1);
    i64 exponent = (i64)(bits >> 52 & 0x7FF), left;
    if (exponent)
        mantissa |= (u64)1 << 52;
    left = (exponent ? exponent : 1) - 1075 + power + n_bits;
    u128 product = (u128)mantissa * whole; /* below 2**106 */
    if (left >= 0)
        return left < 128 ? product << left : 0;
    if (left < -127)
        return 0;
    return (product >> -left) + (product >> (-left - 1) & 1);
}

#endif
