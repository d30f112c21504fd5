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
