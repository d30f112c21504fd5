/* Vector codes: rotated rows and their codes, by the definition in primal.vectors._definition.

   Words X with m**3 |X|**2 <= 2**60 keep every rotated value within 2**30. Sums of squares are
   below 2**53, thus exact in float64, because d is at most 8192. */
#include "common.h"
#include <math.h>

enum { LARGEST_D = 8192, ROUNDS = 3, COSINE = 1, IP = 2 };

static const i32 THRESHOLDS[5][7] = {
    [2] = {4021}, [4] = {1058, 2140, 3275, 4503, 5887, 7551, 9834}};
static const i32 LEVELS[5][8] = {[1] = {1}, [2] = {3, 10}, [4] = {3, 9, 15, 22, 29, 38, 48, 64}};

/* x 2**n in two steps, for 2**n alone may be out of range. */
INLINE void scale_and_round(f64 *x, i64 d, int n)
{
    f64 first = ldexp(1.0, n / 2), second = ldexp(1.0, n - n / 2);
    for (i64 i = 0; i < d; i++)
        x[i] = (x[i] * first * second + ROUNDER) - ROUNDER;
}

/* The smallest e with |x| < 2**e for all of x; 0 for zeros. */
INLINE int exponent_of(const f64 *x, i64 d)
{
    f64 top = 0.0;
    for (i64 i = 0; i < d; i++)
        top = fabs(x[i]) > top ? fabs(x[i]) : top;
    int e;
    frexp(top, &e);
    return e;
}

/* Integers X with x ~ X 2**t and m**3 |X|**2 <= 2**60; returns |X|**2. Changes x. */
static i64 words_of(f64 *restrict x, i64 d, i64 m, i32 *restrict words, i32 *t)
{
    int e = exponent_of(x, d), shift = 0;
    i64 sum = 0, squares = 0;
    scale_and_round(x, d, 18 - e);
    for (i64 i = 0; i < d; i++) {
        words[i] = (i32)x[i];
        sum += (i64)words[i] * words[i];
    }
    while ((f64)sum > ldexp(0x1p60 / ((f64)m * (f64)m * (f64)m), 2 * shift))
        shift++;
    for (i64 i = 0; i < d; i++) {
        words[i] = (words[i] + ((1 << shift) >> 1)) >> shift;
        squares += (i64)words[i] * words[i];
    }
    *t = e - 18 + shift;
    return squares;
}

static void rotate(i32 *restrict y, i32 *restrict other, const int8_t *signs, i64 m, i64 r)
{
    for (i64 round = 0; round < ROUNDS; round++, signs += m * r) {
        for (i64 i = 0; i < m * r; i++)
            y[i] *= signs[i];
        for (i64 i = 0; i < m * r; i += 8) { /* the first three passes at once */
            i32 *v = y + i, s[8];
            for (i64 j = 0; j < 4; j++) {
                s[j] = v[2 * j] + v[2 * j + 1];
                s[4 + j] = v[2 * j] - v[2 * j + 1];
            }
            for (i64 j = 0; j < 2; j++) {
                i32 *h = s + 4 * j;
                i32 a = h[0] + h[1], b = h[0] - h[1], c = h[2] + h[3], d = h[2] - h[3];
                v[j] = a + c, v[2 + j] = b + d, v[4 + j] = a - c, v[6 + j] = b - d;
            }
        }
        for (i64 half = 8; half < m; half *= 2)
            for (i64 i = 0; i < m * r; i += 2 * half)
                for (i64 j = i; j < i + half; j++) {
                    i32 a = y[j], b = y[j + half];
                    y[j] = a + b, y[j + half] = a - b;
                }
        if (r == 1 || round == ROUNDS - 1)
            continue;
        for (i64 i = 0; i < r; i++)
            for (i64 j = 0; j < m; j++)
                other[j * r + i] = y[i * m + j];
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
    i32 other[LARGEST_D];
    for (i64 k = 0; k < n; k++, x += d, y += m * r) {
        memcpy(own, x, 8 * (size_t)d);
        if (metric == COSINE) {
            f64 sum = 0.0; /* of integers below 2**53 */
            scale_and_round(own, d, 20 - exponent_of(own, d));
            for (i64 i = 0; i < d; i++)
                sum += own[i] * own[i];
            f64 length = sum > 0.0 ? sqrt(sum) : 1.0;
            for (i64 i = 0; i < d; i++)
                own[i] /= length;
        }
        for (i64 i = 0; i < d; i++)
            row[i] = center ? own[i] - (f64)center[i] : own[i];
        memset(y, 0, 4 * (size_t)(m * r));
        squares[k] = words_of(row, d, m, y, &exponents[k]);
        f64 unit = ldexp(1.0, exponents[k]);
        offsets[k] = (f64)squares[k] * (unit * unit);
        if (metric == IP) {
            i32 t;
            f64 own_squares = (f64)words_of(own, d, m, other, &t);
            unit = ldexp(1.0, t);
            f64 own_offset = own_squares * (unit * unit);
            offsets[k] = offsets[k] - own_offset;
        }
        rotate(y, other, signs, m, r);
    }
    return 0;
}

/* Codes (n, D bits / 8) and factors of rotated rows (n, D). gain is m**3. */
int API(vectors_code)(const i32 *y, const i32 *exponents, const i64 *squares, i64 n, i64 D,
                      f64 gain, i64 bits, u8 *codes, f32 *factors)
{
    u8 places[LARGEST_D];
    for (i64 k = 0; k < n; k++, y += D, codes += D * bits / 8) {
        i64 product = 0;
        f64 energy = (f64)squares[k] * gain;
        if (bits == 8) {
            i32 top = 1;
            for (i64 i = 0; i < D; i++)
                top = abs(y[i]) > top ? abs(y[i]) : top;
            for (i64 i = 0; i < D; i++) {
                i32 level = (i32)(((f64)y[i] * 127.0 / (f64)top + ROUNDER) - ROUNDER);
                places[i] = (u8)(level + 128);
                product += (i64)y[i] * level;
            }
        } else {
            i32 half = 1 << (bits - 1), thresholds[7] = {0};
            f64 rms = sqrt(energy / (f64)D);
            for (i32 j = 0; j < half - 1; j++)
                thresholds[j] = (i32)floor(rms * (THRESHOLDS[bits][j] / 4096.0));
            for (i64 i = 0; i < D; i++) {
                i32 size = abs(y[i]), above = 0, level = LEVELS[bits][0];
                for (i32 j = 0; j < half - 1; j++) {
                    i32 more = size > thresholds[j];
                    above += more;
                    level += more * (LEVELS[bits][j + 1] - LEVELS[bits][j]);
                }
                places[i] = (u8)(y[i] < 0 ? half - 1 - above : half + above);
                product += (i64)size * level;
            }
        }
        i64 each = 8 / bits;
        for (i64 i = 0; i < D / each; i++) {
            u32 byte = 0;
            for (i64 j = 0; j < each; j++)
                byte |= (u32)places[i * each + j] << (bits * j);
            codes[i] = (u8)byte;
        }
        factors[k] = (f32)(energy / (f64)(product ? product : 1) * ldexp(1.0, exponents[k]));
    }
    return 0;
}
