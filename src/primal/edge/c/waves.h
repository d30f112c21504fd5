/* Keep a product from being fused with the sum that takes it: gcc does so in its gnu modes, and
   in C++ in all of them. */
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__SSE2__))
#define PRIMAL_KEEP(x) __asm__("" : "+x"(x))
#elif defined(__GNUC__) && defined(__aarch64__)
#define PRIMAL_KEEP(x) __asm__("" : "+w"(x))
#elif defined(__GNUC__) && defined(__arm__) && defined(__ARM_FP) && !defined(__SOFTFP__)
#define PRIMAL_KEEP(x) __asm__("" : "+t"(x))
#elif defined(__GNUC__) && defined(__riscv_flen)
#define PRIMAL_KEEP(x) __asm__("" : "+f"(x))
#elif defined(__GNUC__)
#define PRIMAL_KEEP(x) __asm__("" : "+r"(x))
#else
#define PRIMAL_KEEP(x) do { volatile float kept = (x); (x) = kept; } while (0)
#endif

static inline float primal_product(float a, float b)
{
    float product = a * b;
    PRIMAL_KEEP(product);
    return product;
}

/* Cosine and sine of a phase in units of 2**-32 turn: the bits of primal.turns.waves. */
static inline void primal_waves(uint32_t turn, float *cos, float *sin)
{
    uint32_t quadrant = (turn + 0x20000000u) >> 30;
    uint32_t rest = turn - (quadrant << 30);
    uint32_t negative = rest >> 31;
    uint32_t size = negative ? 0 - rest : rest;
    uint32_t tail = size & PRIMAL_TAIL;
    float head_t = primal_product((float)(int32_t)(size - tail), PRIMAL_UNIT);
    float tail_t = primal_product((float)(int32_t)tail, PRIMAL_UNIT);
    float t = head_t + tail_t, y = primal_product(t, t), c, s, linear;
    c = primal_product(y, PRIMAL_COS3) + PRIMAL_COS2;
    c = primal_product(c, y) + PRIMAL_COS1;
    c = primal_product(c, y) + PRIMAL_COS0;
    c = primal_product(c, y) + 1.0f;
    s = primal_product(y, PRIMAL_SIN2) + PRIMAL_SIN1;
    s = primal_product(s, y) + PRIMAL_SIN0;
    linear = primal_product(head_t, PRIMAL_REST) + primal_product(tail_t, PRIMAL_WHOLE);
    linear += primal_product(primal_product(t, y), s);
    s = primal_product(head_t, PRIMAL_HEAD) + linear;
    s = negative ? -s : s;
    *cos = quadrant & 1u ? s : c;
    *sin = quadrant & 1u ? c : s;
    *cos = (quadrant + 1) & 2u ? -*cos : *cos;
    *sin = quadrant & 2u ? -*sin : *sin;
}

/* The same in units of 1 / 32767, in integers: SensorMap.waves_q15. */
static inline void primal_waves_q15(uint32_t turn, int32_t *cos, int32_t *sin)
{
    uint32_t quadrant = (turn + 0x20000000u) >> 30;
    uint32_t rest = turn - (quadrant << 30);
    uint32_t negative = rest >> 31;
    uint32_t r = ((negative ? 0 - rest : rest) + 4096u) >> 13;
    uint32_t y = ((r >> 1) * ((r + 1) >> 1) + 8192u) >> 14;
    uint32_t inner = PRIMAL_COS_Q1 - ((y * PRIMAL_COS_Q2 + 32768u) >> 16);
    uint32_t outer = PRIMAL_COS_Q0 - ((y * inner + 524288u) >> 20);
    int32_t c = (int32_t)(32767u - ((y * outer + 131072u) >> 18)), s;
    inner = PRIMAL_SIN_Q1 - ((y * PRIMAL_SIN_Q2 + 32768u) >> 16);
    outer = PRIMAL_SIN_Q0 - ((y * inner + 262144u) >> 19);
    s = (int32_t)((r * outer + 65536u) >> 17);
    s = negative ? -s : s;
    *cos = quadrant & 1u ? s : c;
    *sin = quadrant & 1u ? c : s;
    *cos = (quadrant + 1) & 2u ? -*cos : *cos;
    *sin = quadrant & 2u ? -*sin : *sin;
}
