/* Words of the block at hand, and after the first round where several blocks need it: static,
   so that the linker counts them and one call at a time may use them. */
static primal_word primal_words[PRIMAL_N_ROWS];
#if PRIMAL_N_BLOCKS > 1
static primal_word primal_first[PRIMAL_N_ROWS];
#define PRIMAL_FIRST primal_first
#else
#define PRIMAL_FIRST primal_words
#endif

/* What input j adds. */
static inline primal_word primal_scaled(const primal_input *x, uint32_t j)
{
#ifdef PRIMAL_SCALE
    /* |x| times 53 bits, shifted to the nearest: as the library rounds a float64. */
    uint64_t size = x[j] < 0 ? 0 - (uint64_t)(int64_t)x[j] : (uint64_t)x[j];
    uint64_t low = size * (PRIMAL_SCALE & 0xFFFFFFFFu);
    uint64_t high = size * (PRIMAL_SCALE >> 32) + (low >> 32);
    uint64_t word;
    low &= 0xFFFFFFFFu;
#if PRIMAL_SHIFT > 32
    word = (high + ((uint64_t)1 << (PRIMAL_SHIFT - 33))) >> (PRIMAL_SHIFT - 32);
#elif PRIMAL_SHIFT > 0
    word = (high << (32 - PRIMAL_SHIFT)) + ((low + ((uint64_t)1 << (PRIMAL_SHIFT - 1))) >> PRIMAL_SHIFT);
#else
    word = ((high << 32) + low) << -PRIMAL_SHIFT;
#endif
    return x[j] < 0 ? 0 - word : word;
#else
    return (primal_word)x[j] * PRIMAL_STEP(j);
#endif
}

static inline primal_word primal_signed(primal_word word, uint32_t minus)
{
    primal_word mask = (primal_word)0 - (primal_word)(minus & 1u);
    return (word ^ mask) - mask;
}

/* Signs of one round, then sums and differences: H S w; `from` may be `w`. */
static inline void primal_round(const primal_word *from, primal_word *w, uint32_t round)
{
    const uint32_t *signs = PRIMAL_SIGNS + round * (PRIMAL_N_ROWS / 32);
    uint32_t i;
    for (i = 0; i < PRIMAL_N_ROWS; i++)
        w[i] = primal_signed(from[i], signs[i >> 5] >> (i & 31));
    primal_steps(w, 0, PRIMAL_N_ROWS, 1, PRIMAL_N_ROWS);
}

static inline void primal_begin(const primal_input *x)
{
    uint32_t j;
    for (j = 0; j < PRIMAL_N_ROWS; j++) {
        PRIMAL_FIRST[j] = j < PRIMAL_N_INPUTS ? primal_scaled(x, j) : 0;
        PRIMAL_LOOP();
    }
    primal_round(PRIMAL_FIRST, PRIMAL_FIRST, 0);
}

/* Phase of frequency i, for i = 0, 1, 2, ... in this order after primal_begin. */
static inline uint32_t primal_turn(const primal_input *x, uint32_t i)
{
    uint32_t row = i % PRIMAL_N_ROWS, block = i / PRIMAL_N_ROWS;
    primal_word turn;
    (void)x;
    if (row == 0) {
        primal_round(PRIMAL_FIRST, primal_words, 1 + 2 * block);
        primal_round(primal_words, primal_words, 2 + 2 * block);
    }
    turn = primal_words[row] * PRIMAL_FACTORS[i];
#if PRIMAL_WORD_BITS == 64
    turn = (turn + 0x80000000u) >> 32;
#endif
    return (uint32_t)turn + PRIMAL_OFFSET(i);
}
