/* Vector codes: rotated rows and their codes, by the definition in primal.vectors._definition.

   Words X with m**3 |X|**2 <= 2**60 keep every rotated value within 2**30. Sums of squares are
   below 2**53, thus exact in float64, because d is at most 8192. */
#include "common.h"

enum { LARGEST_D = 8192, ROUNDS = 3, COSINE = 1, IP = 2 };

static const i32 THRESHOLDS[5][7] = {
    [2] = {4021}, [4] = {1058, 2140, 3275, 4503, 5887, 7551, 9834}};
static const i32 LEVELS[5][8] = {[1] = {1}, [2] = {3, 10}, [4] = {3, 9, 15, 22, 29, 38, 48, 64}};

/* 2**n, in two steps where it is out of range; zero or infinite where nothing near it exists. */
INLINE f64 power_within(int n) { return float64((u64)(n + 1023) << 52); }
INLINE f64 power(int n) { return power_within(n / 2) * power_within(n - n / 2); }

/* Round x 2**(bits - e) for the smallest e with |x| < 2**e; e is 0 for zeros. */
static int to_words(f64 *x, i64 d, int bits)
{
    f64 top = 0.0;
    for (i64 i = 0; i < d; i++)
        top = __builtin_fabs(x[i]) > top ? __builtin_fabs(x[i]) : top;
    int small = top < 0x1p-1000, e = 0;
    if (top > 0.0)
        e = (int)(bits64(small ? top * 0x1p100 : top) >> 52) - 1022 - (small ? 100 : 0);
    f64 first = power_within((bits - e) / 2), second = power_within(bits - e - (bits - e) / 2);
    for (i64 i = 0; i < d; i++)
        x[i] = (x[i] * first * second + ROUNDER) - ROUNDER;
    return e;
}

/* Integers X with x ~ X 2**t, and |X|**2; returns |X|**2 4**t. Changes x. */
static f64 centered_words(f64 *x, i64 d, i64 m, i32 *words, i32 *t, i64 *squares)
{
    int e = to_words(x, d, 18), shift = 0;
    i64 sum = 0;
    for (i64 i = 0; i < d; i++)
        sum += (i64)x[i] * (i64)x[i];
    while ((f64)sum > 0x1p60 / (f64)(m * m * m) * power(2 * shift))
        shift++;
    *squares = 0;
    for (i64 i = 0; i < d; i++) {
        words[i] = ((i32)x[i] + ((1 << shift) >> 1)) >> shift;
        *squares += (i64)words[i] * words[i];
    }
    *t = e - 18 + shift;
    f64 unit = power(*t);
    return (f64)*squares * (unit * unit);
}

static void rotate(i32 *restrict y, i32 *restrict other, const int8_t *signs, i64 m, i64 r)
{
    for (i64 round = 0; round < ROUNDS; round++, signs += m * r) {
        for (i64 i = 0; i < m * r; i++)
            y[i] *= signs[i];
        for (i64 half = 1; half < m; half *= 2)
            for (i64 i = 0; i < m * r; i += 2 * half)
                for (i64 j = i; j < i + half; j++) {
                    i32 a = y[j], b = y[j + half];
                    y[j] = a + b;
                    y[j + half] = a - b;
                }
        for (i64 i = 0; i < r; i++)
            for (i64 j = 0; j < m; j++)
                other[j * r + i] = y[i * m + j];
        if (round < ROUNDS - 1)
            memcpy(y, other, 4 * (size_t)(m * r));
    }
}

/* Rotated rows of float64 x (n, d): y (n, m r), which counts units of 2**exponents, |X|**2, and the
   offsets, which are infinite or NaN for rows out of range. center is float32 (d,), or NULL. */
int API(vectors_rotate)(const f64 *x, i64 n, i64 d, i64 m, i64 r, const int8_t *signs,
                        const f32 *center, i64 metric, i32 *y, i32 *exponents, i64 *squares,
                        f64 *offsets)
{
    f64 own[LARGEST_D], row[LARGEST_D];
    i32 other[LARGEST_D], own_exponent;
    i64 own_squares;
    for (i64 k = 0; k < n; k++, x += d, y += m * r) {
        memcpy(own, x, 8 * (size_t)d);
        if (metric == COSINE) {
            f64 sum = 0.0; /* of integers below 2**53 */
            to_words(own, d, 20);
            for (i64 i = 0; i < d; i++)
                sum += own[i] * own[i];
            for (i64 i = 0; i < d; i++)
                own[i] /= sum > 0.0 ? __builtin_sqrt(sum) : 1.0;
        }
        for (i64 i = 0; i < d; i++)
            row[i] = center ? own[i] - (f64)center[i] : own[i];
        memset(y, 0, 4 * (size_t)(m * r));
        offsets[k] = centered_words(row, d, m, y, &exponents[k], &squares[k]);
        if (metric == IP)
            offsets[k] -= centered_words(own, d, m, other, &own_exponent, &own_squares);
        rotate(y, other, signs, m, r);
    }
    return 0;
}

/* Codes (D bits / 8) of a rotated row y (D), for constant bits; returns <level, y>. */
INLINE i64 code_row(const i32 *y, i64 D, f64 energy, const int bits, u8 *codes)
{
    const i32 half = 1 << (bits - 1), steps = bits == 8 ? 0 : half - 1, each = 8 / bits;
    u8 places[LARGEST_D];
    i32 thresholds[7] = {0}, top = 1;
    f64 rms = __builtin_sqrt(energy / (f64)D);
    i64 product = 0;
    for (i32 j = 0; j < steps; j++)
        thresholds[j] = (i32)(rms * (THRESHOLDS[bits][j] / 4096.0));
    for (i64 i = 0; bits == 8 && i < D; i++)
        top = abs(y[i]) > top ? abs(y[i]) : top;
    for (i64 i = 0; i < D; i++) {
        i32 size = abs(y[i]), place = 0, level = bits == 8 ? 0 : LEVELS[bits][0];
        for (i32 j = 0; j < steps; j++) {
            place += size > thresholds[j];
            level += (size > thresholds[j]) * (LEVELS[bits][j + 1] - LEVELS[bits][j]);
        }
        if (bits == 8) /* halves round alike on both sides */
            place = level = (i32)(((f64)size * 127.0 / (f64)top + ROUNDER) - ROUNDER);
        product += (i64)size * level;
        places[i] = (u8)(y[i] < 0 ? half - (bits < 8) - place : half + place);
    }
    for (i64 i = 0; i < D / each; i++) {
        u32 byte = 0;
        for (i32 j = 0; j < each; j++)
            byte |= (u32)places[i * each + j] << (bits * j);
        codes[i] = (u8)byte;
    }
    return product;
}

/* Codes (n, D bits / 8) and factors of rotated rows (n, D). gain is m**3. */
int API(vectors_code)(const i32 *y, const i32 *exponents, const i64 *squares, i64 n, i64 D,
                      f64 gain, i64 bits, u8 *codes, f32 *factors)
{
    for (i64 k = 0; k < n; k++, y += D, codes += D * bits / 8) {
        f64 energy = (f64)squares[k] * gain;
        i64 product = bits == 1   ? code_row(y, D, energy, 1, codes)
                      : bits == 2 ? code_row(y, D, energy, 2, codes)
                      : bits == 4 ? code_row(y, D, energy, 4, codes)
                                  : code_row(y, D, energy, 8, codes);
        factors[k] = (f32)(energy / (f64)(product ? product : 1) * power(exponents[k]));
    }
    return 0;
}
