/* Features of the basis `hadamard` in float32: the definition in primal.exact._hadamard.

   With X_i = floor(|x_i| c 2**64 + 1/2) with the sign of x_i, and signs S, the frequencies of a
   block have the phases k_j (H S3 H S2 H S1 X)_j mod 2**64, in units of 2**-64 turn. As many rows
   as a vector has words stand side by side: a vector holds one word of each of them. */
#include "hadamard.h"

WRITE_FLOAT32

typedef words primal_word;
#if defined(__AVX512F__) || defined(__aarch64__)
#define PRIMAL_RADIX 16 /* there are 32 registers */
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

/* Vectors that stay in the L1 cache for many steps; columns of x at once. */
enum { INNER = 512, NEAR = 8 };


/* Words X of one row, signed. Fast ones are right below 2**51, with two fused operations: the second
   decides whether the first, which rounds halves to even, has to go up; `outside` gets bits where
   they are not. */
INLINE primal_word words_of(reals x, int fast, f64 factor, const primal_hadamard *t,
                            primal_word *outside)
{
    primal_word found = {0}, minus = (primal_word)((signed_words)x >> 63);
    if (fast) {
        reals size = (reals)((primal_word)x & ~(u64)0 >> 1);
        reals near = multiply_add(size, splat(factor), splat(ROUNDER)) - ROUNDER;
        primal_word up = (primal_word)(multiply_add(size, splat(factor), -(near + 0.5)) >= 0.0);
        near += (reals)(up & (primal_word)splat(1.0));
        *outside |= ~(primal_word)(near < 0x1p51);
        found = (primal_word)(near + ROUNDER) - (primal_word)splat(ROUNDER);
    } else {
        for (int i = 0; i < WORDS; i++)
            found[i] = (u64)scaled_size(bits64(x[i]), t->whole, t->power, 64);
    }
    return (found ^ minus) - minus;
}

/* Words S1 X of `NEAR` columns of WORDS rows, and the steps among them. */
INLINE void near_words(const f64 *points, int fast, f64 factor, const primal_hadamard *t,
                       const u64 *signs, primal_word *to, primal_word *outside)
{
    primal_word found[NEAR];
    UNROLL
    for (int first = 0; first < NEAR; first += WORDS) {
        primal_word minus = *(const loose_words *)(signs + first);
        UNROLL
        for (int c = 0; c < WORDS; c++) {
            reals point = *(const reals *)(points + c * NEAR + first);
            primal_word word = words_of(point, fast, factor, t, outside);
            found[first + c] = (word ^ minus) - minus;
        }
        transpose(found + first);
    }
    primal_butterflies(found, NEAR);
    UNROLL
    for (int i = 0; i < NEAR; i++)
        to[i] = found[i];
}

static NOINLINE void steps(primal_word *y, uint32_t begin, uint32_t end, uint32_t half,
                           uint32_t size)
{
    primal_steps(y, begin, end, half, size);
}

/* H S1 X of `rows` rows of x: m words, zero beyond d. Returns whether fast words were right. */
INLINE int first_round(const void *x, i64 is64, int fast, i64 rows, const primal_hadamard *t,
                       primal_word *to)
{
    uint32_t m = (uint32_t)t->m, inner = m < INNER ? m : INNER;
    f64 factor = __builtin_ldexp((f64)t->whole, (int)t->power + 64), points[WORDS * NEAR] = {0};
    primal_word outside = {0};
    for (uint32_t begin = 0; begin < m; begin += inner) {
        for (uint32_t first = begin; first < begin + inner; first += NEAR) {
            i64 some = t->d - first < 0 ? 0 : least(NEAR, t->d - first);
            for (i64 c = 0; c < rows; c++) {
                f64 *own = points + c * NEAR;
                i64 at = c * t->d + first;
                if (some < NEAR)
                    memset(own, 0, NEAR * sizeof *own);
                if (is64)
                    memcpy(own, (const f64 *)x + at, sizeof *own * (size_t)some);
                else if (some == NEAR)
                    for (int i = 0; i < NEAR; i++)
                        own[i] = (f64)((const f32 *)x)[at + i];
                else
                    for (i64 i = 0; i < some; i++)
                        own[i] = (f64)((const f32 *)x)[at + i];
            }
            near_words(points, fast, factor, t, t->signs + first, to + first, &outside);
        }
        steps(to, begin, begin + inner, NEAR, inner);
    }
    steps(to, 0, m, inner, m);
    u64 any = 0;
    for (int i = 0; i < WORDS; i++)
        any |= outside[i];
    return !any;
}

/* Signs, then the steps of neighbors. */
INLINE void signed_neighbors(const primal_word *from, const u64 *signs, primal_word *to)
{
    primal_word some[PRIMAL_RADIX];
    PRIMAL_UNROLL
    for (int i = 0; i < PRIMAL_RADIX; i++)
        some[i] = (from[i] ^ signs[i]) - signs[i];
    primal_butterflies(some, PRIMAL_RADIX);
    PRIMAL_UNROLL
    for (int i = 0; i < PRIMAL_RADIX; i++)
        to[i] = some[i];
}

/* The last steps of one transform, signs, and the first of the next, of n words `far` apart. */
INLINE void turning_pass(primal_word *y, uint32_t far, uint32_t n, const u64 *signs)
{
    primal_word some[PRIMAL_RADIX];
    PRIMAL_UNROLL
    for (uint32_t i = 0; i < n; i++)
        some[i] = y[i * far];
    primal_butterflies(some, n);
    PRIMAL_UNROLL
    for (uint32_t i = 0; i < n; i++)
        some[i] = (some[i] ^ signs[i * far]) - signs[i * far];
    primal_butterflies(some, n);
    PRIMAL_UNROLL
    for (uint32_t i = 0; i < n; i++)
        y[i * far] = some[i];
}

/* The last steps, of neighbors, and their turns in pairs, of row c from turns + c stride on. */
INLINE void last_turns(const primal_word *y, const u64 *factors, u32 *turns, i64 stride)
{
    primal_word some[PRIMAL_RADIX];
    primal_word pairs[PRIMAL_RADIX / 2];
    PRIMAL_UNROLL
    for (int i = 0; i < PRIMAL_RADIX; i++)
        some[i] = y[i];
    primal_butterflies(some, PRIMAL_RADIX);
    PRIMAL_UNROLL
    for (int i = 0; i < PRIMAL_RADIX / 2; i++) {
        primal_word even = some[2 * i] * factors[2 * i] + 0x80000000u;
        primal_word odd = some[2 * i + 1] * factors[2 * i + 1] + 0x80000000u;
        pairs[i] = even >> 32 | (odd & ~(u64)0xFFFFFFFFu);
    }
    UNROLL
    for (int i = 0; i < PRIMAL_RADIX / 2; i += WORDS) {
        transpose(pairs + i);
        UNROLL
        for (int c = 0; c < WORDS; c++)
            memcpy(turns + c * stride + 2 * i, pairs + i + c, sizeof *pairs);
    }
}

/* Distance of words in the last pass of primal_steps from `half` on. */
static uint32_t last_distance(uint32_t half, uint32_t size)
{
    while (size > PRIMAL_RADIX * half)
        half *= PRIMAL_RADIX;
    return half;
}

/* Features, or without a finish turns, of frequencies `column`, ... of one row. */
static void write_row(const primal_hadamard *t, u32 *turns, i64 column, i64 n,
                      const primal_finish *finish, u32 *row)
{
    i64 first = column - t->skip, skipped = first < 0 ? -first : 0;
    n = least(n, t->k - first);
    if (!finish && n > skipped)
        memcpy(row + first + skipped, turns + skipped, sizeof *turns * (size_t)(n - skipped));
    for (i64 i = skipped; finish && i < n; i += CHUNK)
        write32(turns + i, first + i, least(CHUNK, n - i), finish, row);
}

/* Features of rows x (n, d), float64 or float32; without a finish their turns. */
int API(hadamard32)(const void *x, i64 is64, i64 n, const primal_hadamard *t,
                    const primal_finish *finish, u32 *restrict out)
{
    uint32_t m = (uint32_t)t->m, inner = m < INNER ? m : INNER;
    uint32_t far = last_distance(inner < m ? inner : PRIMAL_RADIX, m);
    uint32_t near = inner < far ? inner : far;
    i64 columns = finish ? finish->k + finish->pairs : t->k;
    void *freed;
    primal_word *first = aligned_memory(2 * m * sizeof *first + sizeof(u32) * WORDS * INNER, &freed);
    if (!first)
        return PRIMAL_NO_MEMORY;
    u32 *turns = (u32 *)(first + 2 * m);
    for (i64 r = 0; r < n; r += WORDS) {
        i64 rows = least(WORDS, n - r);
        const void *some = (const char *)x + r * t->d * (is64 ? 8 : 4);
        if (!HAS_FMA || !first_round(some, is64, 1, rows, t, first))
            first_round(some, is64, 0, rows, t, first);
        for (i64 b = 0; b < t->n_blocks; b++) {
            const u64 *second = t->signs + (1 + 2 * b) * m, *third = second + m;
            /* The last block may overwrite its input: less memory. */
            primal_word *y = b + 1 < t->n_blocks ? first + m : first;
            for (uint32_t begin = 0; begin < m; begin += inner) {
                for (uint32_t i = begin; i < begin + inner; i += PRIMAL_RADIX)
                    signed_neighbors(first + i, second + i, y + i);
                steps(y, begin, begin + inner, PRIMAL_RADIX, near);
            }
            steps(y, 0, m, inner, far);
            for (uint32_t i = 0; i < far; i++) {
#if PRIMAL_RADIX > 8
                if (m == 16 * far)
                    turning_pass(y + i, far, 16, third + i);
                else
#endif
                if (m == 8 * far)
                    turning_pass(y + i, far, 8, third + i);
                else if (m == 4 * far)
                    turning_pass(y + i, far, 4, third + i);
                else
                    turning_pass(y + i, far, 2, third + i);
            }
            steps(y, 0, m, inner, far);
            for (uint32_t begin = 0; begin < m; begin += inner) {
                steps(y, begin, begin + inner, PRIMAL_RADIX, near);
                for (uint32_t i = 0; i < inner; i += PRIMAL_RADIX)
                    last_turns(y + begin + i, t->factors + b * m + begin + i, turns + i, INNER);
                for (i64 c = 0; c < rows; c++)
                    write_row(t, turns + c * INNER, b * m + begin, inner, finish,
                              out + (r + c) * columns);
            }
        }
    }
    free(freed);
    return 0;
}
