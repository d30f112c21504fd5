/* Scores, PRIMAL_N_SCORES of them, in units of PRIMAL_SCORE_UNIT. */
static inline void primal_scores(const primal_input *x, int32_t *scores)
{
    uint32_t c;
    for (c = 0; c < PRIMAL_N_SCORES; c++) {
        scores[c] = PRIMAL_BIASES[c];
        PRIMAL_LOOP();
    }
    primal_weigh(x, PRIMAL_WEIGHTS, scores);
}

/* The place of the largest score, the first among equals. */
static inline uint32_t primal_predict(const primal_input *x)
{
    int32_t scores[PRIMAL_N_SCORES];
    primal_scores(x, scores);
    return primal_largest(scores);
}
