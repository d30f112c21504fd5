/* Features of the basis `hadamard` in float64: as in hadamard.c, with words of 128 bits.

   X_i = floor(|x_i| c 2**128 + 1/2) with the sign of x_i; the phases are k_j (H S3 H S2 H S1 X)_j,
   rounded to 2**-64 turn. */
#include "hadamard.h"

WRITE_FLOAT64

typedef struct {
    words high, low;
} primal_word;
#define PRIMAL_RADIX 8
/* Comparisons of vectors are 0 or -1: a carry is subtracted. */
INLINE void primal_pair(primal_word *a, primal_word *b)
{
    words high = a->high, low = a->low;
    a->low = low + b->low;
    a->high = high + b->high - (words)(a->low < low);
    b->high = high - b->high + (words)(low < b->low);
    b->low = low - b->low;
}
#include "butterflies.h"

enum { INNER = 128 };

/* H S times m words. */
static void transform(const primal_word *from, const u64 *signs, uint32_t m, primal_word *to)
{
    uint32_t inner = m < INNER ? m : INNER;
    for (uint32_t begin = 0; begin < m; begin += inner) {
        for (uint32_t i = begin; i < begin + inner; i += PRIMAL_RADIX) {
            primal_word some[PRIMAL_RADIX];
            UNROLL
            for (int j = 0; j < PRIMAL_RADIX; j++) {
                words sign = (words){0} + signs[i + j];
                some[j].low = (from[i + j].low ^ sign) - sign;
                some[j].high = (from[i + j].high ^ sign) - ((words)(some[j].low == 0) & sign);
            }
            primal_butterflies(some, PRIMAL_RADIX);
            UNROLL
            for (int j = 0; j < PRIMAL_RADIX; j++)
                to[i + j] = some[j];
        }
        primal_steps(to, begin, begin + inner, PRIMAL_RADIX, inner);
    }
    primal_steps(to, 0, m, inner, m);
}

/* Words X of `rows` rows, zero beyond d. */
static void first_words(const f64 *x, i64 rows, const primal_hadamard *t, primal_word *to)
{
    memset(to, 0, sizeof *to * (size_t)t->m);
    for (i64 c = 0; c < rows; c++)
        for (i64 i = 0; i < t->d; i++) {
            u64 bits = bits64(x[c * t->d + i]), *high = (u64 *)&to[i].high, *low = (u64 *)&to[i].low;
            u128 word = scaled_size(bits, t->whole, t->power, 128);
            word = bits >> 63 ? 0 - word : word;
            high[c] = (u64)(word >> 64);
            low[c] = (u64)word;
        }
}

/* Turns of WORDS words of a block, of row c from turns + c stride on; factors have 32 bits. */
INLINE void write_turns(const primal_word *y, const u64 *factors, u64 *turns, i64 stride)
{
    words square[WORDS];
    UNROLL
    for (int i = 0; i < WORDS; i++) {
        words low = y[i].low, middle;
        middle = (low >> 32) * factors[i] + ((low & 0xFFFFFFFFu) * factors[i] >> 32);
        square[i] = y[i].high * factors[i] + (middle >> 32) + (middle >> 31 & 1);
    }
    transpose(square);
    UNROLL
    for (int c = 0; c < WORDS; c++)
        *(loose_words *)(turns + c * stride) = square[c];
}

int API(hadamard64)(const f64 *x, i64 n, const primal_hadamard *t, const primal_finish *finish,
                    f64 *restrict out)
{
    uint32_t m = (uint32_t)t->m;
    void *freed;
    primal_word *first = aligned_memory(2 * m * sizeof *first + sizeof(u64) * WORDS * CHUNK, &freed);
    if (!first)
        return PRIMAL_NO_MEMORY;
    primal_word *y = first + m;
    u64 *turns = (u64 *)(y + m);
    for (i64 r = 0; r < n; r += WORDS) {
        i64 rows = least(WORDS, n - r), columns = finish->k + finish->pairs;
        first_words(x + r * t->d, rows, t, first);
        transform(first, t->signs, m, first);
        for (i64 b = 0; b < t->n_blocks; b++) {
            const u64 *second = t->signs + (1 + 2 * b) * m;
            transform(first, second, m, y);
            transform(y, second + m, m, y);
            for (i64 begin = 0; begin < m; begin += CHUNK) {
                i64 some = least(CHUNK, m - begin), at = b * m + begin - t->skip;
                i64 skipped = at < 0 ? least(-at, some) : 0, end = least(some, t->k - at);
                for (i64 i = 0; i < some; i += WORDS)
                    write_turns(y + begin + i, t->factors + b * m + begin + i, turns + i, CHUNK);
                for (i64 c = 0; c < rows && skipped < end; c++)
                    write64(turns + c * CHUNK + skipped, at + skipped, end - skipped, finish,
                            out + (r + c) * columns);
            }
        }
    }
    free(freed);
    return 0;
}
