/* The nearest rows among vector codes, by the scores of primal.vectors._definition.

   codes   uint8 (n, bytes)     q   int8 (n_queries, 8 / bits, padded): column j 8 / bits + g of a
   f, a    float32 (n,)             query is entry (g, j); int16 for 8 bits. Zeros pad to whole
   twice   float64 (n_queries,)     vectors of 64 entries and to whole groups of 4 queries.

   Inner products are below 2**31: levels are at most 64 and queries 127, or 127 and 2047, and there
   are at most 8192 columns. */
#include "common.h"

enum { PAD = 64, GROUP = 4, LARGEST_ROW = 8192, BLOCK = 64 };

/* Levels with 10 or 64 added; for 1 bit they are the bits. Pairs of products with queries fit int16,
   of 4 bits 2 * 128 * 127, and so do their sums over the columns in a byte, 8 * 2 * 1 * 127 and
   4 * 2 * 20 * 127. */
static const u8 TABLES[5][16] = {
    [2] = {0, 7, 13, 20}, [4] = {0, 16, 26, 35, 42, 49, 55, 61, 67, 73, 79, 86, 93, 102, 112, 128}};

/* look_up: the entries of a table of 16 at places below 16, in every 16 bytes.
   pairs: sums of two products of bytes, unsigned and signed. widen: sums of two 16-bit integers. */
#if defined(__AVX2__) /* also with AVX-512: longer vectors gain less than their tails cost */
#include <immintrin.h>
enum { WIDTH = 32 };
#define look_up(table, places) (bytes)_mm256_shuffle_epi8((__m256i)(table), (__m256i)(places))
#define pairs(u, s) (shorts)_mm256_maddubs_epi16((__m256i)(u), (__m256i)(s))
#define widen(a) (ints)_mm256_madd_epi16((__m256i)(a), _mm256_set1_epi16(1))
#else
enum { WIDTH = 16 };
#ifdef __clang__
#define look_up(table, places) __builtin_shufflevector(table, places)
#else
#define look_up(table, places) __builtin_shuffle(table, places)
#endif
#define PAIR(i) (int16_t)(a[i] * (int8_t)b[i] + a[i + 1] * (int8_t)b[i + 1])
#define widen(a) (ints){a[0] + a[1], a[2] + a[3], a[4] + a[5], a[6] + a[7]}
#endif
typedef u8 bytes __attribute__((vector_size(WIDTH), may_alias, aligned(1)));
typedef int16_t shorts __attribute__((vector_size(WIDTH)));
typedef i32 ints __attribute__((vector_size(WIDTH)));
#ifndef __AVX2__
INLINE shorts pairs(bytes a, bytes b)
{
    return (shorts){PAIR(0), PAIR(2), PAIR(4), PAIR(6), PAIR(8), PAIR(10), PAIR(12), PAIR(14)};
}
#endif
INLINE bytes load(const void *p) { return *(const bytes *)p; }
INLINE i32 total(ints a)
{
    typedef i32 quarter __attribute__((vector_size(16)));
    quarter parts[WIDTH / 16];
    memcpy(parts, &a, WIDTH);
    for (int i = 1; i < WIDTH / 16; i++)
        parts[0] += parts[i];
    return parts[0][0] + parts[0][1] + parts[0][2] + parts[0][3];
}

/* Inner products of n rows and `some` queries, out (n, GROUP), for constant bits and `some`, with the
   entries of TABLES as levels. Whole vectors are read, thus rows at the end are copied. */
INLINE void products(const u8 *row, i64 n, i64 bytes_per_row, const u8 *end, i64 padded,
                     const int8_t *q, i32 *out, const int bits, const int some)
{
    const int groups = 8 / bits;
    u8 entries[WIDTH], copy[LARGEST_ROW + PAD];
    for (int i = 0; bits < 8 && i < WIDTH; i++)
        entries[i] = TABLES[bits % 8][i % 16];
    const bytes table = load(entries);
    for (i64 i = 0; i < n; i++, row += bytes_per_row, out += GROUP) {
        const u8 *p = row;
        ints sums[GROUP] = {0};
        if (p + padded > end) {
            memset(copy + bytes_per_row, 0, PAD);
            p = memcpy(copy, row, (size_t)bytes_per_row);
        }
        for (i64 j = 0; bits < 8 && j < bytes_per_row; j += WIDTH) {
            shorts few[GROUP] = {0};
            for (int g = 0; g < groups; g++) {
                bytes levels = load(p + j) >> (bits * g) & (u8)((1 << bits) - 1);
                levels = bits == 1 ? levels : look_up(table, levels);
                for (int k = 0; k < some; k++) {
                    shorts both = few[k] + pairs(levels, load(q + (k * groups + g) * padded + j));
                    int full = bits == 4 || g == groups - 1;
                    few[k] = full ? (shorts){0} : both;
                    sums[k] += full ? widen(both) : (ints){0};
                }
            }
        }
        for (int k = 0; k < some; k++) {
            const int16_t *own = (const int16_t *)(const void *)q + k * padded;
            i32 sum = bits < 8 ? total(sums[k]) : 0;
            for (i64 j = 0; bits == 8 && j < padded; j++) /* levels are codes less 128 */
                sum += (int16_t)(p[j] - 128) * own[j];
            out[k] = sum;
        }
    }
}

/* A heap with the last of the nearest rows first: the largest score, and among equal ones the
   largest row. `push` puts a row in the place of the first one and moves it down. */
INLINE int before(f64 a, i64 row_a, f64 b, i64 row_b) { return a < b || (a == b && row_a < row_b); }
static void push(f64 *scores, i64 *rows, i64 n, f64 score, i64 row)
{
    i64 i = 0;
    for (i64 c; (c = 2 * i + 1) < n; i = c) {
        c += c + 1 < n && before(scores[c], rows[c], scores[c + 1], rows[c + 1]);
        if (before(scores[c], rows[c], score, row))
            break;
        scores[i] = scores[c];
        rows[i] = rows[c];
    }
    scores[i] = score;
    rows[i] = row;
}

/* The k nearest rows of each query, in no order: scores (n_queries, k), which are infinite before
   the call, and rows (n_queries, k). */
int API(vectors_nearest)(const u8 *codes, const f32 *f, const f32 *a, i64 n, i64 bytes_per_row,
                         i64 bits, const int8_t *q, const f64 *twice, i64 n_queries, i64 padded,
                         i64 k, f64 *scores, i64 *rows)
{
    const i64 each = padded * (bits == 8 ? 2 : 8 / bits);
    for (i64 begin = 0; begin < n; begin += BLOCK)
        for (i64 j = 0; j < n_queries; j += GROUP) {
            i64 n_rows = least(BLOCK, n - begin), some = least(GROUP, n_queries - j);
            i32 ips[BLOCK * GROUP];
#define ARGUMENTS codes + begin * bytes_per_row, n_rows, bytes_per_row, codes + n * bytes_per_row, \
                  padded, q + j * each, ips
#define CASE(BITS) \
    if (bits == BITS && some == 1) products(ARGUMENTS, BITS, 1); \
    else if (bits == BITS) products(ARGUMENTS, BITS, GROUP)
            CASE(1);
            CASE(2);
            CASE(4);
            CASE(8);
            for (i64 g = j; g < j + some; g++) {
                i64 sum = 0;
                for (i64 i = 0; bits < 8 && i < each; i++)
                    sum += q[g * each + i];
                for (i64 i = 0; i < n_rows; i++) {
                    i64 ip = ips[i * GROUP + g - j] * (bits == 1 ? 2 : 1);
                    ip -= sum * (bits == 1 ? 1 : bits == 2 ? 10 : 64);
                    f64 score = (f64)a[begin + i] - (f64)ip * (f64)f[begin + i] * twice[g];
                    if (score < scores[g * k])
                        push(scores + g * k, rows + g * k, k, score, begin + i);
                }
            }
        }
    return 0;
}
