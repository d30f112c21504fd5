/* Cosine and sine of a phase in units of 1 / 32767, in integers: SensorMap.waves_q15. */
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
