/* Phase of frequency i at position t. */
static inline void primal_begin(const primal_input *x) { (void)x; }

static inline uint32_t primal_turn(const primal_input *x, uint32_t i)
{
    return (uint32_t)(((uint64_t)x[0] * PRIMAL_INCREMENTS[i] + 0x80000000u) >> 32);
}
