static inline void primal_begin(const primal_input *x) { (void)x; }

#define PRIMAL_TERM(j) ((uint32_t)x[j] * row[j])

/* Phase of frequency i: sums wrap, which is the reduction modulo one turn. */
static inline uint32_t primal_turn(const primal_input *x, uint32_t i)
{
    const primal_word *row = PRIMAL_INCREMENTS + i * PRIMAL_N_INPUTS;
    uint32_t sum = 0;
#if PRIMAL_N_INPUTS >= 8
    const primal_input *last = x + PRIMAL_N_INPUTS / 8 * 8;
    for (; x != last; x += 8, row += 8) {
        sum += PRIMAL_TERM(0) + PRIMAL_TERM(1) + PRIMAL_TERM(2) + PRIMAL_TERM(3);
        sum += PRIMAL_TERM(4) + PRIMAL_TERM(5) + PRIMAL_TERM(6) + PRIMAL_TERM(7);
    }
#endif
#if PRIMAL_N_INPUTS % 8
    {
        uint32_t j;
        for (j = 0; j < PRIMAL_N_INPUTS % 8; j++)
            sum += PRIMAL_TERM(j);
    }
#endif
    return (sum << PRIMAL_SHIFT) + PRIMAL_OFFSET(i);
}
