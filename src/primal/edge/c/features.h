/* Phases in units of 2**-32 turn, PRIMAL_N_FREQUENCIES of them. */
static inline void primal_turns(const primal_input *x, uint32_t *turns)
{
    uint32_t i;
    primal_begin(x);
    for (i = 0; i < PRIMAL_N_FREQUENCIES; i++)
        turns[i] = primal_turn(x, i);
}

/* Features in float32, PRIMAL_N_FEATURES of them. */
static inline void primal_encode(const primal_input *x, float *features)
{
    uint32_t i;
    primal_begin(x);
    for (i = 0; i < PRIMAL_N_FREQUENCIES; i++) {
        float cos, sin;
        primal_waves(primal_turn(x, i), &cos, &sin);
        features[PRIMAL_COS_PLACE(i)] = PRIMAL_SCALED(cos, PRIMAL_COS_PLACE(i));
        if (PRIMAL_HAS_SINE(i))
            features[PRIMAL_SIN_PLACE(i)] = PRIMAL_SCALED(sin, PRIMAL_SIN_PLACE(i));
    }
}

/* Features in units of 1 / 32767 of the largest factor. */
static inline void primal_encode_q15(const primal_input *x, int16_t *features)
{
    uint32_t i;
    primal_begin(x);
    for (i = 0; i < PRIMAL_N_FREQUENCIES; i++) {
        int32_t cos, sin;
        primal_waves_q15(primal_turn(x, i), &cos, &sin);
        features[PRIMAL_COS_PLACE(i)] = (int16_t)PRIMAL_SCALED_Q15(cos, PRIMAL_COS_PLACE(i));
        if (PRIMAL_HAS_SINE(i))
            features[PRIMAL_SIN_PLACE(i)] = (int16_t)PRIMAL_SCALED_Q15(sin, PRIMAL_SIN_PLACE(i));
    }
}

/* Whether cosines and sines are >= 0: cos, sin, cos, sin, ... from the lowest bit of each byte,
   (PRIMAL_N_FREQUENCIES + 3) / 4 bytes. */
static inline void primal_encode_bits(const primal_input *x, uint8_t *bits)
{
    uint32_t i;
    primal_begin(x);
    for (i = 0; i < PRIMAL_N_FREQUENCIES; i++) {
        uint32_t turn = primal_turn(x, i);
        uint32_t pair = (turn + 0x40000000u <= 0x80000000u) | (uint32_t)(turn <= 0x80000000u) << 1;
        uint32_t shift = i % 4 * 2;
        bits[i / 4] = (uint8_t)((shift ? bits[i / 4] : 0u) | pair << shift);
    }
}
