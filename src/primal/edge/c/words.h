/* Words of one row, for butterflies.h; wider passes are twice the code. */
static inline void primal_pair(primal_word *a, primal_word *b)
{
    primal_word sum = *a + *b;
    *b = *a - *b;
    *a = sum;
}
#ifdef __OPTIMIZE_SIZE__
#define PRIMAL_RADIX 2
#else
#define PRIMAL_RADIX 4
#endif
