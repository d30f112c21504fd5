static inline void primal_begin(const primal_input *x) { (void)x; }

/* Add value 2**by, by < 64, to a 128-bit number. */
static inline void primal_add(uint64_t *high, uint64_t *low, int64_t value, unsigned by)
{
    uint64_t part = (uint64_t)value << by;
    *low += part;
    *high += (uint64_t)(by ? value >> (64 - by) : value >> 63) + (*low < part);
}

/* Phase of frequency i: an integer product of 62-bit frequencies, rounded once. Digits of a
   frequency count 2**(PRIMAL_DIGIT_BITS place), the lowest first. */
static inline uint32_t primal_turn(const primal_input *x, uint32_t i)
{
    const int32_t *row = PRIMAL_DIGITS + i * PRIMAL_N_INPUTS * PRIMAL_N_DIGITS;
    int64_t sums[PRIMAL_N_DIGITS];
    uint64_t high = 0, low = 0, halves;
    unsigned by = PRIMAL_SHIFTS[i], j, place;
    for (place = 0; place < PRIMAL_N_DIGITS; place++) {
        sums[place] = 0;
        PRIMAL_LOOP();
    }
    for (j = 0; j < PRIMAL_N_INPUTS; j++)
        for (place = 0; place < PRIMAL_N_DIGITS; place++)
            sums[place] += (int64_t)x[j] * *row++;
    for (place = 0; place < PRIMAL_N_DIGITS; place++)
        primal_add(&high, &low, sums[place], place * PRIMAL_DIGIT_BITS);
    if (by >= 64)
        halves = (uint64_t)((int64_t)high >> (by - 64));
    else
        halves = (low >> by) | (by ? high << (64 - by) : 0);
    return (uint32_t)((halves + 1) >> 1) + PRIMAL_OFFSET(i);
}
