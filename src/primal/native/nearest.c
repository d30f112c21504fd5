/* The nearest rows among vector codes, by the scores of primal.vectors._definition.

   codes   uint8 (n, bytes)     q   int8 (n_queries, 8 / bits, padded): column j 8 / bits + g of a
   f, a    float32 (n,)             query is entry (g, j); for 1 bit (n_queries, padded) as it is,
   twice   float64 (n_queries,)     for 8 bits int16. Padded to whole vectors of 64 entries by 0.

   Inner products are below 2**31: levels are at most 64 and queries 127, or 127 and 2047, and there
   are at most 8192 columns. */
#include "common.h"
#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

enum { PAD = 64, GROUP = 4, LARGEST_ROW = 8192, BLOCK = 64 };

/* Levels with 64 added: products of pairs with queries fit int16, 2 * 128 * 127 < 2**15. */
static const u8 TABLES[5][16] = {[2] = {54, 61, 67, 74, 54, 61, 67, 74, 54, 61, 67, 74, 54, 61, 67, 74},
                                 [4] = {0, 16, 26, 35, 42, 49, 55, 61, 67, 73, 79, 86, 93, 102, 112, 128}};

/* look_up: the entries of a table of 16 at places below 16, in every 16 bytes.
   chosen: bytes of q where the bits from p on are set, lowest bit first, else 0.
   pairs: sums of two products of bytes, unsigned and signed. widen: sums of two 16-bit integers. */
#if defined(__AVX512BW__)
enum { WIDTH = 64 };
#elif defined(__AVX2__)
enum { WIDTH = 32 };
#else
enum { WIDTH = 16 };
#endif
typedef u8 bytes __attribute__((vector_size(WIDTH), may_alias, aligned(1)));
typedef int16_t shorts __attribute__((vector_size(WIDTH)));
typedef i32 ints __attribute__((vector_size(WIDTH)));

#if defined(__AVX512BW__)
INLINE bytes look_up(bytes table, bytes places)
{
    return (bytes)_mm512_shuffle_epi8((__m512i)table, (__m512i)places);
}
INLINE bytes chosen(const u8 *p, const int8_t *q)
{
    u64 word;
    memcpy(&word, p, 8);
    return (bytes)_mm512_maskz_loadu_epi8(word, q);
}
INLINE shorts pairs(bytes u, bytes s)
{
    return (shorts)_mm512_maddubs_epi16((__m512i)u, (__m512i)s);
}
INLINE ints widen(shorts a)
{
    return (ints)_mm512_madd_epi16((__m512i)a, _mm512_set1_epi16(1));
}
INLINE i32 total(ints sums) { return _mm512_reduce_add_epi32((__m512i)sums); }
#elif defined(__AVX2__)
INLINE bytes look_up(bytes table, bytes places)
{
    return (bytes)_mm256_shuffle_epi8((__m256i)table, (__m256i)places);
}
INLINE bytes chosen(const u8 *p, const int8_t *q)
{
    const __m256i each = _mm256_set_epi64x(0x0303030303030303, 0x0202020202020202,
                                           0x0101010101010101, 0);
    const __m256i bit = _mm256_set1_epi64x((i64)0x8040201008040201);
    i32 word;
    memcpy(&word, p, 4);
    __m256i found = _mm256_and_si256(_mm256_shuffle_epi8(_mm256_set1_epi32(word), each), bit);
    __m256i mask = _mm256_cmpeq_epi8(found, bit);
    return (bytes)_mm256_and_si256(mask, _mm256_loadu_si256((const void *)q));
}
INLINE shorts pairs(bytes u, bytes s)
{
    return (shorts)_mm256_maddubs_epi16((__m256i)u, (__m256i)s);
}
INLINE ints widen(shorts a)
{
    return (ints)_mm256_madd_epi16((__m256i)a, _mm256_set1_epi16(1));
}
INLINE i32 total(ints sums)
{
    __m256i a = (__m256i)sums;
    __m128i s = _mm_add_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1)));
}
#else
INLINE bytes look_up(bytes table, bytes places)
{
#if defined(__aarch64__)
    return (bytes)vqtbl1q_u8((uint8x16_t)table, (uint8x16_t)places);
#else
    bytes found;
    for (int i = 0; i < 16; i++)
        found[i] = table[places[i]];
    return found;
#endif
}
INLINE bytes chosen(const u8 *p, const int8_t *q)
{
    bytes found;
    for (int i = 0; i < 16; i++)
        found[i] = (u8)(-(p[i / 8] >> (i % 8) & 1) & q[i]);
    return found;
}
INLINE shorts pairs(bytes u, bytes s)
{
#if defined(__aarch64__)
    int16x8_t low = vmulq_s16((int16x8_t)vmovl_u8(vget_low_u8((uint8x16_t)u)),
                              vmovl_s8(vget_low_s8((int8x16_t)s)));
    int16x8_t high = vmulq_s16((int16x8_t)vmovl_high_u8((uint8x16_t)u),
                               vmovl_high_s8((int8x16_t)s));
    return (shorts)vpaddq_s16(low, high);
#else
    shorts found;
    for (int i = 0; i < 8; i++)
        found[i] = (int16_t)(u[2 * i] * (int8_t)s[2 * i] + u[2 * i + 1] * (int8_t)s[2 * i + 1]);
    return found;
#endif
}
INLINE ints widen(shorts a)
{
    ints found;
    for (int i = 0; i < 4; i++)
        found[i] = a[2 * i] + a[2 * i + 1];
    return found;
}
INLINE i32 total(ints sums) { return sums[0] + sums[1] + sums[2] + sums[3]; }
#endif

INLINE bytes load(const void *p) { return *(const bytes *)p; }

/* Inner products of n rows and `some` queries, out (n, GROUP), for constant bits and `some`: levels
   have 64 added, or for 1 bit are 1 and 0. As many rows are read at once as registers can hold, the
   last one again where none are left. Whole vectors are read, thus rows at the end are copied. */
INLINE void products(const u8 *codes, i64 n, i64 bytes_per_row, const u8 *end, i64 padded,
                     const int bits, const int8_t *q, const i64 some, i32 *out)
{
    enum { TILE = 4 };
    const i64 groups = bits == 1 ? 1 : 8 / bits, read = bits == 1 ? padded / 8 : padded;
    const i64 at_once = some == 1 ? TILE : TILE / 2;
    u8 entries[WIDTH], copies[TILE][LARGEST_ROW + PAD];
    for (i64 i = 0; i < WIDTH; i++)
        entries[i] = TABLES[bits][i % 16];
    const bytes table = load(entries), ones = (bytes){0} + 1;
    for (i64 i = 0; i < n; i += at_once) {
        const u8 *row[TILE];
        ints sums[TILE * GROUP] = {0};
        for (i64 r = 0; r < at_once; r++) {
            row[r] = codes + least(i + r, n - 1) * bytes_per_row;
            if (row[r] + read > end) {
                memset(copies[r] + bytes_per_row, 0, PAD);
                row[r] = memcpy(copies[r], row[r], (size_t)bytes_per_row);
            }
        }
        for (i64 first = 0; bits == 1 && first < padded; first += 128 * WIDTH) {
            shorts few[TILE * GROUP] = {0};
            for (i64 j = first; j < least(first + 128 * WIDTH, padded); j += WIDTH)
                for (i64 t = 0; t < at_once * some; t++)
                    few[t] += pairs(ones, chosen(row[t / some] + j / 8, q + t % some * padded + j));
            for (i64 t = 0; t < at_once * some; t++)
                sums[t] += widen(few[t]);
        }
        for (i64 j = 0; bits > 1 && bits < 8 && j < padded; j += WIDTH)
            for (i64 r = 0; r < at_once; r++)
                for (int g = 0; g < groups; g++) {
                    bytes places = load(row[r] + j) >> (bits * g) & (u8)((1 << bits) - 1);
                    bytes level = look_up(table, places);
                    for (i64 k = 0; k < some; k++)
                        sums[r * some + k] +=
                            widen(pairs(level, load(q + (k * groups + g) * padded + j)));
                }
        for (i64 t = 0; t < at_once * some; t++)
            out[least(i + t / some, n - 1) * GROUP + t % some] = total(sums[t]);
        for (i64 r = 0; bits == 8 && r < at_once; r++)
            for (i64 k = 0; k < some; k++) { /* levels are codes less 128 */
                const int16_t *own = (const int16_t *)(const void *)q + k * padded;
                i32 sum = 0;
                for (i64 j = 0; j < padded; j++)
                    sum += (int16_t)(row[r][j] - 128) * own[j];
                out[least(i + r, n - 1) * GROUP + k] = sum;
            }
    }
}

/* One function for each number of bits, and for one query or a group. */
typedef void product_function(const u8 *, i64, i64, const u8 *, i64, const int8_t *, i32 *);
#define PRODUCTS(BITS, SOME) \
    static void products_##BITS##_##SOME(const u8 *codes, i64 n, i64 bytes_per_row, const u8 *end, \
                                         i64 padded, const int8_t *q, i32 *out) \
    { \
        products(codes, n, bytes_per_row, end, padded, BITS, q, SOME, out); \
    }
PRODUCTS(1, 1) PRODUCTS(2, 1) PRODUCTS(4, 1) PRODUCTS(8, 1)
PRODUCTS(1, 4) PRODUCTS(2, 4) PRODUCTS(4, 4) PRODUCTS(8, 4)
static product_function *const FUNCTIONS[2][9] = {
    {[1] = products_1_1, [2] = products_2_1, [4] = products_4_1, [8] = products_8_1},
    {[1] = products_1_4, [2] = products_2_4, [4] = products_4_4, [8] = products_8_4}};

/* A heap with the last of the nearest rows first: the largest score, and among equal ones the
   largest row. `push` puts a row in the place of the first one and moves it down. */
INLINE void push(f64 *scores, i64 *rows, i64 n, f64 score, i64 row)
{
    i64 i = 0;
    for (i64 c; (c = 2 * i + 1) < n; i = c) {
        if (c + 1 < n && (scores[c + 1] > scores[c] ||
                          (scores[c + 1] == scores[c] && rows[c + 1] > rows[c])))
            c++;
        if (score > scores[c] || (score == scores[c] && row > rows[c]))
            break;
        scores[i] = scores[c], rows[i] = rows[c];
    }
    scores[i] = score, rows[i] = row;
}

/* The k nearest rows of each query, in no order: scores (n_queries, k), which are infinite before
   the call, and rows (n_queries, k). */
int API(vectors_nearest)(const u8 *codes, const f32 *f, const f32 *a, i64 n, i64 bytes_per_row,
                         i64 bits, const int8_t *q, const f64 *twice, i64 n_queries, i64 padded,
                         i64 k, f64 *scores, i64 *rows)
{
    i64 each = (bits == 1 ? 1 : 8 / bits) * padded * (bits == 8 ? 2 : 1);
    for (i64 begin = 0; begin < n; begin += BLOCK)
        for (i64 j = 0; j < n_queries; j += GROUP) {
            i64 rows_here = least(BLOCK, n - begin), some = least(GROUP, n_queries - j);
            i32 ips[BLOCK * GROUP];
            FUNCTIONS[some > 1][bits](codes + begin * bytes_per_row, rows_here, bytes_per_row,
                                      codes + n * bytes_per_row, padded, q + j * each, ips);
            for (i64 g = 0; g < some; g++) {
                f64 *own_scores = scores + (j + g) * k;
                i64 *own_rows = rows + (j + g) * k, sum = 0;
                for (i64 i = 0; bits < 8 && i < each; i++)
                    sum += q[(j + g) * each + i];
                for (i64 i = 0; i < rows_here; i++) {
                    i64 ip = ips[i * GROUP + g];
                    ip = bits == 8 ? ip : bits == 1 ? 2 * ip - sum : ip - 64 * sum;
                    f64 product = (f64)ip * (f64)f[begin + i] * twice[j + g];
                    f64 score = (f64)a[begin + i] - product;
                    if (score < own_scores[0])
                        push(own_scores, own_rows, k, score, begin + i);
                }
            }
        }
    return 0;
}
