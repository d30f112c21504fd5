/* From turns to features: which waves, their factors, and where they go.

   WRITE_WAVES(name, REAL, TURN, WAVES) defines name(turns, first, n, finish, row), which writes the
   waves of frequencies first, ..., first + n - 1, whose turns are turns[0], ..., turns[n - 1]. */
#ifndef PRIMAL_WRITE_H
#define PRIMAL_WRITE_H

#include "common.h"
#define PRIMAL_KEEP(x) (void)0
#include "waves.h"

/* A row of features: `pairs` of the k frequencies have a sine. In block layout a row is [k cosines,
   sines], otherwise (cos, sin) of each pair, then the other cosines. */
typedef struct {
    i64 block, k, pairs;
    const void *amplitudes; /* (k,) factors of the waves, of their type */
    const void *offsets;    /* (k,) added to turns, of their type, or NULL */
} primal_finish;

/* The nearest float64 to an integer. */
INLINE f64 nearest64(i64 v)
{
#if defined(__AVX512DQ__) || defined(__aarch64__)
    return (f64)v;
#else
    /* Two halves, exact, and one rounded sum: vectors of this level know no conversion. */
    f64 high = float64(((u64)v >> 32) ^ 0x4530000080000000u);
    f64 low = float64(((u64)v & 0xFFFFFFFFu) | 0x4330000000000000u);
    return (high - (0x1p84 + 0x1p63 + 0x1p52)) + low;
#endif
}

/* Cosine and sine of a phase in units of 2**-64 turn, float64. */
INLINE void waves64(u64 turn, f64 *cos, f64 *sin)
{
    u64 quadrant = turn + ((u64)1 << 61), odd = quadrant & (u64)1 << 62;
    f64 t = nearest64((i64)(turn << 2)) * 0x1p-63, y = t * t;
    f64 c = -0x1.b2f3eb054afcdp-42, s = 0x1.e3f38399551bfp-38;
    c = c * y + 0x1.f9ce245cada0bp-34;
    s = s * y + -0x1.e30071afc3e59p-30;
    c = c * y + -0x1.a6d1eef479be1p-26;
    s = s * y + 0x1.50782fda12d96p-22;
    c = c * y + 0x1.e1f5068688d5bp-19;
    s = s * y + -0x1.32d2cce2e5b19p-15;
    c = c * y + -0x1.55d3c7e3cb241p-12;
    s = s * y + 0x1.466bc677587f8p-9;
    c = c * y + 0x1.03c1f081b5ac0p-6;
    s = s * y + -0x1.4abbce625be41p-4;
    c = c * y + -0x1.3bd3cc9be45dep-2;
    s = s * y + 0x1.921fb54442d18p-1;
    c = c * y + 1.0;
    s = s * t;
    *cos = float64(bits64(odd ? s : c) ^ ((quadrant + ((u64)1 << 62)) & (u64)1 << 63));
    *sin = float64(bits64(odd ? c : s) ^ (quadrant & (u64)1 << 63));
}

/* Turns at once: with their waves they stay in the L1 cache. */
enum { CHUNK = 256 };

#define WRITE_WAVES(NAME, REAL, TURN, WAVES)                                                       \
    static void NAME(TURN *restrict turns, i64 first, i64 n, const primal_finish *finish,          \
                     void *restrict row)                                                           \
    {                                                                                              \
        const REAL *restrict amplitudes = (const REAL *)finish->amplitudes + first;                \
        const TURN *restrict offsets = finish->offsets;                                            \
        i64 pairs = finish->pairs - first, i;                                                      \
        pairs = pairs < 0 ? 0 : least(pairs, n);                                                   \
        if (offsets)                                                                               \
            for (i = 0; i < n; i++)                                                                \
                turns[i] += offsets[first + i];                                                    \
        REAL *restrict cos = (REAL *)row + first, *restrict sin = (REAL *)row + finish->k + first; \
        if (finish->block) {                                                                       \
            for (i = 0; i < pairs; i++) {                                                          \
                REAL c, s;                                                                         \
                WAVES(turns[i], &c, &s);                                                           \
                cos[i] = c * amplitudes[i];                                                        \
                sin[i] = s * amplitudes[i];                                                        \
            }                                                                                      \
        } else {                                                                                   \
            cos += least(first, finish->pairs);                                                    \
            for (i = 0; i < pairs; i++) {                                                          \
                REAL c, s;                                                                         \
                WAVES(turns[i], &c, &s);                                                           \
                cos[2 * i] = c * amplitudes[i];                                                    \
                cos[2 * i + 1] = s * amplitudes[i];                                                \
            }                                                                                      \
            cos += pairs;                                                                          \
        }                                                                                          \
        for (i = pairs; i < n; i++) {                                                              \
            REAL c, s;                                                                             \
            WAVES(turns[i], &c, &s);                                                               \
            cos[i] = c * amplitudes[i];                                                            \
        }                                                                                          \
    }

#define WRITE_FLOAT32 WRITE_WAVES(write32, f32, u32, primal_waves)
#define WRITE_FLOAT64 WRITE_WAVES(write64, f64, u64, waves64)

#endif
