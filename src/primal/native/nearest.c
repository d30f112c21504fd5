/* The nearest rows among vector codes, by the scores of primal.vectors._definition.

   codes   uint8 (n, bytes)     q   int8 (n_queries, 8 / bits, padded): column j 8 / bits + g of a
   f, a    float32 (n,)             query is entry (g, j); for 1 bit (n_queries, padded) as it is,
   twice   float64 (n_queries,)     for 8 bits int16. Padded to whole vectors of 64 entries by 0,
                                    and to whole groups of 4 queries.

   Inner products are below 2**31: levels are at most 64 and queries 127, or 127 and 2047, and there
   are at most 8192 columns. */
#include "common.h"

enum { PAD = 64, GROUP = 4, LARGEST_ROW = 8192, BLOCK = 64 };

/* Levels with 64 added: products of pairs with queries fit int16, 2 * 128 * 127 < 2**15. */
static const u8 TABLES[9][16] = {
    [2] = {54, 61, 67, 74}, [4] = {0, 16, 26, 35, 42, 49, 55, 61, 67, 73, 79, 86, 93, 102, 112, 128}};

/* look_up: the entries of a table of 16 at places below 16, in every 16 bytes.
   chosen: bytes of q where the bits from p on are set, lowest bit first, else 0.
   pairs: sums of two products of bytes, unsigned and signed. widen: sums of two 16-bit integers. */
#if defined(__AVX512BW__) || defined(__AVX2__)
#include <immintrin.h>
#if defined(__AVX512BW__)
enum { WIDTH = 64 };
#define X86(name) _mm512_##name
#else
enum { WIDTH = 32 };
#define X86(name) _mm256_##name
#endif
typedef u8 bytes __attribute__((vector_size(WIDTH), may_alias, aligned(1)));
typedef long long words __attribute__((vector_size(WIDTH)));
typedef int16_t shorts __attribute__((vector_size(WIDTH)));
typedef i32 ints __attribute__((vector_size(WIDTH)));
#define look_up(table, places) (bytes)X86(shuffle_epi8)((words)(table), (words)(places))
#define pairs(u, s) (shorts)X86(maddubs_epi16)((words)(u), (words)(s))
#define widen(a) (ints)X86(madd_epi16)((words)(a), X86(set1_epi16)(1))
#else
enum { WIDTH = 16 };
typedef u8 bytes __attribute__((vector_size(WIDTH), may_alias, aligned(1)));
typedef int16_t shorts __attribute__((vector_size(WIDTH)));
typedef i32 ints __attribute__((vector_size(WIDTH)));
#if defined(__clang__)
#define look_up(table, places) __builtin_shufflevector(table, places)
#else
#define look_up(table, places) __builtin_shuffle(table, places)
#endif
INLINE shorts pairs(bytes u, bytes s)
{
    shorts found;
    for (int i = 0; i < 8; i++)
        found[i] = (int16_t)(u[2 * i] * (int8_t)s[2 * i] + u[2 * i + 1] * (int8_t)s[2 * i + 1]);
    return found;
}
INLINE ints widen(shorts a)
{
    return (ints){a[0] + a[1], a[2] + a[3], a[4] + a[5], a[6] + a[7]};
}
#endif
INLINE bytes load(const void *p) { return *(const bytes *)p; }
INLINE bytes chosen(const u8 *p, const int8_t *q)
{
#if defined(__AVX512BW__)
    u64 word;
    memcpy(&word, p, 8);
    return (bytes)_mm512_maskz_loadu_epi8(word, q);
#elif defined(__AVX2__)
    const __m256i bit = _mm256_set1_epi64x((i64)0x8040201008040201);
    const __m256i byte = _mm256_set_epi64x(0x0303030303030303, 0x0202020202020202,
                                           0x0101010101010101, 0);
    i32 word;
    memcpy(&word, p, 4);
    __m256i set = _mm256_and_si256(_mm256_shuffle_epi8(_mm256_set1_epi32(word), byte), bit);
    return (bytes)_mm256_cmpeq_epi8(set, bit) & load(q);
#else
    bytes found;
    for (int i = 0; i < 16; i++)
        found[i] = (u8)(-(p[i / 8] >> (i % 8) & 1) & q[i]);
    return found;
#endif
}
INLINE i32 total(ints a)
{
    i32 sum = 0;
    for (int i = 0; i < WIDTH / 4; i++)
        sum += a[i];
    return sum;
}

/* Inner products of n rows and `some` queries, out (n, GROUP), for constant bits and `some`: levels
   have 64 added, or for 1 bit are 1 and 0. Whole vectors are read, thus rows at the end are copied. */
INLINE void products(const u8 *row, i64 n, i64 bytes_per_row, const u8 *end, i64 padded,
                     const int bits, const int8_t *q, const int some, i32 *out)
{
    const int groups = bits == 1 ? 1 : 8 / bits;
    u8 entries[WIDTH], copy[LARGEST_ROW + PAD];
    for (int i = 0; i < WIDTH; i++)
        entries[i] = TABLES[bits][i % 16];
    const bytes table = load(entries), ones = (bytes){0} + 1;
    for (i64 i = 0; i < n; i++, row += bytes_per_row, out += GROUP) {
        const u8 *p = row;
        ints sums[GROUP] = {0};
        if (p + (bits == 1 ? padded / 8 : padded) > end) {
            memset(copy + bytes_per_row, 0, PAD);
            p = memcpy(copy, row, (size_t)bytes_per_row);
        }
        for (i64 first = 0; bits == 1 && first < padded; first += 128 * WIDTH) {
            shorts few[GROUP] = {0}; /* 128 sums of at most 2 * 127 */
            for (i64 j = first; j < least(first + 128 * WIDTH, padded); j += WIDTH)
                for (int k = 0; k < some; k++)
                    few[k] += pairs(ones, chosen(p + j / 8, q + k * padded + j));
            for (int k = 0; k < some; k++)
                sums[k] += widen(few[k]);
        }
        for (i64 j = 0; bits > 1 && bits < 8 && j < padded; j += WIDTH)
            for (int g = 0; g < groups; g++) {
                bytes places = load(p + j) >> (bits * g) & (u8)((1 << bits) - 1);
                bytes levels = look_up(table, places);
                for (int k = 0; k < some; k++)
                    sums[k] += widen(pairs(levels, load(q + (k * groups + g) * padded + j)));
            }
        for (int k = 0; k < some; k++)
            out[k] = total(sums[k]);
        for (int k = 0; bits == 8 && k < some; k++) { /* levels are codes less 128 */
            const int16_t *own = (const int16_t *)(const void *)q + k * padded;
            i32 sum = 0;
            for (i64 j = 0; j < padded; j++)
                sum += (int16_t)(p[j] - 128) * own[j];
            out[k] = sum;
        }
    }
}

typedef void product_function(const u8 *, i64, i64, const u8 *, i64, const int8_t *, int, i32 *);
#define PRODUCTS(BITS) \
    static void products##BITS(const u8 *codes, i64 n, i64 bytes_per_row, const u8 *end, \
                               i64 padded, const int8_t *q, int some, i32 *out) \
    { \
        if (some == 1) \
            products(codes, n, bytes_per_row, end, padded, BITS, q, 1, out); \
        else \
            products(codes, n, bytes_per_row, end, padded, BITS, q, GROUP, out); \
    }
PRODUCTS(1)
PRODUCTS(2)
PRODUCTS(4)
PRODUCTS(8)
static product_function *const FUNCTIONS[9] = {
    [1] = products1, [2] = products2, [4] = products4, [8] = products8};

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
    const i64 each = (bits == 1 ? 1 : 8 / bits) * padded * (bits == 8 ? 2 : 1);
    for (i64 begin = 0; begin < n; begin += BLOCK)
        for (i64 j = 0; j < n_queries; j += GROUP) {
            i64 n_rows = least(BLOCK, n - begin);
            int some = (int)least(GROUP, n_queries - j);
            i32 ips[BLOCK * GROUP];
            FUNCTIONS[bits](codes + begin * bytes_per_row, n_rows, bytes_per_row,
                            codes + n * bytes_per_row, padded, q + j * each, some, ips);
            for (i64 g = j; g < j + some; g++) {
                i64 sum = 0;
                for (i64 i = 0; bits < 8 && i < each; i++)
                    sum += q[g * each + i];
                for (i64 i = 0; i < n_rows; i++) {
                    i64 ip = ips[i * GROUP + g - j];
                    ip = bits == 8 ? ip : bits == 1 ? 2 * ip - sum : ip - 64 * sum;
                    f64 product = (f64)ip * (f64)f[begin + i] * twice[g];
                    f64 score = (f64)a[begin + i] - product;
                    if (score < scores[g * k])
                        push(scores + g * k, rows + g * k, k, score, begin + i);
                }
            }
        }
    return 0;
}
