/* Rows times the frequencies of the basis `hadamard`: the transforms backwards, in float64, with the
   operations of primal.exact.HadamardTable.adjoint in their order. */
#include "hadamard.h"

typedef reals primal_word;
#if defined(__AVX512F__) || defined(__aarch64__)
#define PRIMAL_RADIX 16
#else
#define PRIMAL_RADIX 8
#endif
INLINE void primal_pair(primal_word *a, primal_word *b)
{
    primal_word sum = *a + *b;
    *b = *a - *b;
    *a = sum;
}
#include "butterflies.h"

INLINE reals with_sign(reals x, u64 minus)
{
    return (reals)((words)x ^ (minus & (u64)1 << 63));
}

/* v (n, k), float64 or float32, times the frequencies (k, d), into out (n, d) of the same type;
   weights (n_blocks m,) are k_j c. */
int API(adjoint)(const void *v, i64 is64, i64 n, const primal_hadamard *t, const f64 *weights,
                 void *out)
{
    uint32_t m = (uint32_t)t->m;
    void *freed;
    reals *y = aligned_memory(2 * m * sizeof *y, &freed), *total = y + m;
    if (!y)
        return PRIMAL_NO_MEMORY;
    for (i64 r = 0; r < n; r += WORDS) {
        i64 rows = least(WORDS, n - r);
        memset(total, 0, m * sizeof *total);
        for (i64 b = 0; b < t->n_blocks; b++) {
            const u64 *second = t->signs + (1 + 2 * b) * m, *third = second + m;
            memset(y, 0, m * sizeof *y);
            for (i64 c = 0; c < rows; c++)
                for (i64 i = 0; i < m; i++) {
                    i64 j = b * m + i - t->skip, at = (r + c) * t->k + j;
                    if (j >= 0 && j < t->k)
                        ((f64 *)y)[i * WORDS + c] =
                            (is64 ? ((const f64 *)v)[at] : (f64)((const f32 *)v)[at])
                            * weights[b * m + i];
                }
            primal_steps(y, 0, m, 1, m);
            for (i64 i = 0; i < m; i++)
                y[i] = with_sign(y[i], third[i]);
            primal_steps(y, 0, m, 1, m);
            for (i64 i = 0; i < m; i++)
                total[i] += with_sign(y[i], second[i]);
        }
        primal_steps(total, 0, m, 1, m);
        for (i64 c = 0; c < rows; c++)
            for (i64 i = 0; i < t->d; i++) {
                f64 sum = ((f64 *)total)[i * WORDS + c];
                sum = t->signs[i] ? -sum : sum;
                if (is64)
                    ((f64 *)out)[(r + c) * t->d + i] = sum;
                else
                    ((f32 *)out)[(r + c) * t->d + i] = (f32)sum;
            }
    }
    free(freed);
    return 0;
}
