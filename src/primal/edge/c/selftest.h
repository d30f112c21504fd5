#ifdef PRIMAL_SELFTEST
/* Row `row` of the inputs of the self-test: multiples of sqrt(2), so that they need no memory. */
static inline void primal_sample(uint32_t row, primal_input *x)
{
    uint64_t at = (uint64_t)row * PRIMAL_N_INPUTS;
    uint32_t j;
    for (j = 0; j < PRIMAL_N_INPUTS; j++) {
        uint64_t word = ++at * 0x6A09E667F3BCC909ull;
        x[j] = (primal_input)((primal_input)(word >> (64 - 8 * sizeof x[j])) >> PRIMAL_SAMPLE_SHIFT);
    }
}

static inline uint32_t primal_digest(uint32_t digest, uint32_t value)
{
    return digest * 0x9E3779B1u + value;
}

static inline uint32_t primal_float_bits(float value)
{
    union { float value; uint32_t bits; } both;
    both.value = value;
    return both.bits;
}

/* Digests over rows first, ..., last - 1 of phases, features in float32 and in integers, signs
   and scores. */
static inline void primal_digests(uint32_t first, uint32_t last, uint32_t digests[5])
{
    static primal_input x[PRIMAL_N_INPUTS];
    static union {
        uint32_t turns[PRIMAL_N_FREQUENCIES];
        float features[PRIMAL_N_FEATURES];
        int16_t q15[PRIMAL_N_FEATURES];
        uint8_t bits[(PRIMAL_N_FREQUENCIES + 3) / 4];
#ifdef PRIMAL_SCORE_UNIT
        int32_t scores[PRIMAL_N_SCORES];
#endif
    } out;
    uint32_t i;
    for (i = 0; i < 5; i++) {
        digests[i] = 0;
        PRIMAL_LOOP();
    }
    for (; first < last; first++) {
        primal_sample(first, x);
        primal_turns(x, out.turns);
        for (i = 0; i < PRIMAL_N_FREQUENCIES; i++)
            digests[0] = primal_digest(digests[0], out.turns[i]);
        primal_encode(x, out.features);
        for (i = 0; i < PRIMAL_N_FEATURES; i++)
            digests[1] = primal_digest(digests[1], primal_float_bits(out.features[i]));
        primal_encode_q15(x, out.q15);
        for (i = 0; i < PRIMAL_N_FEATURES; i++)
            digests[2] = primal_digest(digests[2], (uint16_t)out.q15[i]);
        primal_encode_bits(x, out.bits);
        for (i = 0; i < (PRIMAL_N_FREQUENCIES + 3) / 4; i++)
            digests[3] = primal_digest(digests[3], out.bits[i]);
#ifdef PRIMAL_SCORE_UNIT
        primal_scores(x, out.scores);
        for (i = 0; i < PRIMAL_N_SCORES; i++)
            digests[4] = primal_digest(digests[4], (uint32_t)out.scores[i]);
#endif
    }
}

/* 0 when this compiler and chip make the bits of the library; else 1 for wrong phases, 2 for
   float32, 3 for q15, 4 for signs, 5 for scores. */
static inline int primal_selftest(void)
{
    static const uint32_t golden[5] = PRIMAL_GOLDEN;
    uint32_t digests[5];
    int i;
    primal_digests(0, PRIMAL_N_GOLDEN, digests);
    for (i = 0; i < 5; i++)
        if (digests[i] != golden[i])
            return i + 1;
    return 0;
}
#endif
