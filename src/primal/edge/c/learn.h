/* Prototypes learned on the device: sums of features (PRIMAL_N_SCORES x PRIMAL_N_FEATURES, zero at
   first, up to 65536 rows each) and the weights made from them. The order of rows is of no
   consequence: sums are exact. */
static inline void primal_learn(int32_t *sums, const primal_input *x, uint32_t label)
{
    int32_t *row = sums + label * PRIMAL_N_FEATURES;
    uint32_t i;
    primal_begin(x);
    for (i = 0; i < PRIMAL_N_FREQUENCIES; i++) {
        int32_t cos, sin;
        primal_waves_q15(primal_turn(x, i), &cos, &sin);
        row[PRIMAL_COS_PLACE(i)] += PRIMAL_SCALED_Q15(cos, PRIMAL_COS_PLACE(i));
        if (PRIMAL_HAS_SINE(i))
            row[PRIMAL_SIN_PLACE(i)] += PRIMAL_SCALED_Q15(sin, PRIMAL_SIN_PLACE(i));
    }
}

static inline uint32_t primal_root(uint64_t square)
{
    uint64_t root = 0, bit = (uint64_t)1 << 62;
    for (; bit; bit >>= 2) {
        uint64_t trial = root + bit;
        root >>= 1;
        if (square >= trial) {
            square -= trial;
            root += bit;
        }
    }
    return (uint32_t)root;
}

/* Make weights (PRIMAL_N_FEATURES x PRIMAL_N_SCORES) of equal length from sums. */
static inline void primal_settle(const int32_t *sums, int16_t *weights)
{
    uint32_t c, i;
    for (c = 0; c < PRIMAL_N_SCORES; c++) {
        const int32_t *row = sums + c * PRIMAL_N_FEATURES;
        uint32_t largest = 0, unit = 1, length;
        uint64_t square = 0;
        for (i = 0; i < PRIMAL_N_FEATURES; i++) {
            uint32_t size = row[i] < 0 ? 0 - (uint32_t)row[i] : (uint32_t)row[i];
            largest |= size;
        }
        while (largest / unit >= 32768)
            unit *= 2;
        for (i = 0; i < PRIMAL_N_FEATURES; i++) {
            int32_t part = row[i] / (int32_t)unit;
            square += (uint64_t)(uint32_t)(part * part);
        }
        length = primal_root(square) + 1; /* never too short, so that no score overflows */
        for (i = 0; i < PRIMAL_N_FEATURES; i++) {
            int32_t part = row[i] / (int32_t)unit * PRIMAL_LEARNED_LENGTH / (int32_t)length;
            weights[i * PRIMAL_N_SCORES + c] = (int16_t)PRIMAL_SCALED_Q15(part, i);
        }
    }
}

/* The place of the prototype most similar to x. */
static inline uint32_t primal_recall(const int16_t *weights, const primal_input *x)
{
    int32_t scores[PRIMAL_N_SCORES];
    uint32_t c;
    for (c = 0; c < PRIMAL_N_SCORES; c++) {
        scores[c] = 0;
        PRIMAL_LOOP();
    }
    primal_weigh(x, weights, scores);
    return primal_largest(scores);
}
