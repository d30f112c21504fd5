/* StaticPrime: the phase of position t is t * increment mod 2**64, in units of 2**-64 turn. */
#include "write.h"

WRITE_FLOAT32
WRITE_FLOAT64

int API(static32)(const u64 *restrict increments, const u64 *restrict positions, i64 n,
                  const primal_finish *finish, f32 *restrict out)
{
    u32 turns[CHUNK];
    for (i64 r = 0; r < n; r++, out += finish->k + finish->pairs)
        for (i64 first = 0; first < finish->k; first += CHUNK) {
            i64 some = least(CHUNK, finish->k - first);
            for (i64 i = 0; i < some; i++)
                turns[i] = (u32)((positions[r] * increments[first + i] + 0x80000000u) >> 32);
            write32(turns, first, some, finish, out);
        }
    return 0;
}

int API(static64)(const u64 *restrict increments, const u64 *restrict positions, i64 n,
                  const primal_finish *finish, f64 *restrict out)
{
    u64 turns[CHUNK];
    for (i64 r = 0; r < n; r++, out += finish->k + finish->pairs)
        for (i64 first = 0; first < finish->k; first += CHUNK) {
            i64 some = least(CHUNK, finish->k - first);
            for (i64 i = 0; i < some; i++)
                turns[i] = positions[r] * increments[first + i];
            write64(turns, first, some, finish, out);
        }
    return 0;
}

/* Features of turns (n, k) that are already there. */
#define WRITE_TURNS(NAME, REAL, TURN, WRITE)                                                       \
    int API(NAME)(const TURN *restrict given, i64 n, const primal_finish *finish,                  \
                  REAL *restrict out)                                                              \
    {                                                                                              \
        TURN turns[CHUNK];                                                                         \
        i64 k = finish->k;                                                                         \
        for (i64 r = 0; r < n; r++, given += k, out += k + finish->pairs)                          \
            for (i64 first = 0; first < k; first += CHUNK) {                                       \
                i64 some = least(CHUNK, k - first);                                                \
                memcpy(turns, given + first, sizeof *turns * (size_t)some);                        \
                WRITE(turns, first, some, finish, out);                                            \
            }                                                                                      \
        return 0;                                                                                  \
    }
WRITE_TURNS(turns32, f32, u32, write32)
WRITE_TURNS(turns64, f64, u64, write64)

/* Sums over r of the interleaved waves of turns (n_stacks, n, k), from the first r to the last. */
#define SUM_TURNS(NAME, REAL, TURN, WRITE)                                                         \
    int API(NAME)(const TURN *restrict given, i64 n_stacks, i64 n, i64 k, REAL *restrict out)      \
    {                                                                                              \
        TURN turns[CHUNK];                                                                         \
        REAL waves[2 * CHUNK], ones[CHUNK];                                                        \
        for (i64 i = 0; i < CHUNK; i++)                                                            \
            ones[i] = 1;                                                                           \
        for (i64 s = 0; s < n_stacks; s++, given += n * k, out += 2 * k)                           \
            for (i64 first = 0; first < k; first += CHUNK) {                                       \
                i64 some = least(CHUNK, k - first);                                                \
                primal_finish finish = {0, some, some, ones, NULL};                                \
                REAL *restrict sums = out + 2 * first;                                             \
                memset(sums, 0, sizeof *sums * 2 * (size_t)some);                                  \
                for (i64 r = 0; r < n; r++) {                                                      \
                    memcpy(turns, given + r * k + first, sizeof *turns * (size_t)some);            \
                    WRITE(turns, 0, some, &finish, r ? waves : sums);                              \
                    for (i64 i = 0; r && i < 2 * some; i++)                                        \
                        sums[i] += waves[i];                                                       \
                }                                                                                  \
            }                                                                                      \
        return 0;                                                                                  \
    }
SUM_TURNS(sums32, f32, u32, write32)
SUM_TURNS(sums64, f64, u64, write64)
