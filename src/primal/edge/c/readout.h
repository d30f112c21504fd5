/* Add the products of a row of features with weights, feature by feature, to scores. Weights are
   such that no sum leaves 32 bits. */
static inline void primal_weigh(const primal_input *x, const int16_t *weights, int32_t *scores)
{
    uint32_t i, c;
    primal_begin(x);
    for (i = 0; i < PRIMAL_N_FREQUENCIES; i++) {
        const int16_t *cos_row = weights + PRIMAL_COS_PLACE(i) * PRIMAL_N_SCORES;
        int32_t cos, sin;
        primal_waves_q15(primal_turn(x, i), &cos, &sin);
        if (PRIMAL_HAS_SINE(i)) {
            const int16_t *sin_row = weights + PRIMAL_SIN_PLACE(i) * PRIMAL_N_SCORES;
            for (c = 0; c < PRIMAL_N_SCORES; c++) {
                int32_t score = scores[c] + cos * cos_row[c];
                scores[c] = score + sin * sin_row[c];
            }
        } else {
            for (c = 0; c < PRIMAL_N_SCORES; c++)
                scores[c] += cos * cos_row[c];
        }
    }
}

static inline uint32_t primal_largest(const int32_t *scores)
{
    uint32_t best = 0, c;
    for (c = 1; c < PRIMAL_N_SCORES; c++)
        if (scores[c] > scores[best])
            best = c;
    return best;
}
