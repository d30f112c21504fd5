/* Cosine and sine of a phase in units of 2**-32 turn: the operations of primal.exact.waves.

   This file is part of the compiled library and of the headers that primal.edge writes. Every
   operation is one of IEEE 754 in float32, rounded once; none may be fused with another.

   The phase is split into the nearest quadrant and a rest, size / 2**29 eighths of a turn with the
   sign of the rest. The size has up to 30 bits, so the sine multiplies its 12 leading bits (head)
   by the 12 leading bits of pi / 4, which is exact, and adds all smaller parts first. */
#ifndef PRIMAL_WAVES_H
#define PRIMAL_WAVES_H

/* Keep a product from being fused with the sum that takes it: gcc does so in its gnu modes, and
   in C++ in all of them. The library is compiled with -ffp-contract=off instead. */
#if defined(PRIMAL_KEEP)
#elif defined(__GNUC__) && (defined(__x86_64__) || defined(__SSE2__))
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

/* A wave with the sign in the highest bit of a word, also where it is zero. */
static inline float primal_with_sign(float size, uint32_t sign)
{
    union { float wave; uint32_t bits; } both;
    both.wave = size;
    both.bits |= sign & 0x80000000u;
    return both.wave;
}

static inline void primal_waves(uint32_t turn, float *cos, float *sin)
{
    const float unit = 1.8626451e-09f; /* 2**-29 */
    int32_t rest = (int32_t)(turn << 2) >> 2;
    int32_t size = rest < 0 ? -rest : rest, low = size & 0x3FFFF;
    float head = primal_product((float)(size - low), unit);
    float tail = primal_product((float)low, unit);
    float t = head + tail, y = primal_product(t, t), c, s, small;
    uint32_t odd = (turn + 0x20000000u) & 0x40000000u; /* the quadrant exchanges the waves */
    c = primal_product(y, 3.4905204e-06f) + -0.00032586334f;
    c = primal_product(c, y) + 0.015854282f;
    c = primal_product(c, y) + -0.30842513f;
    c = primal_product(c, y) + 1.0f;
    s = primal_product(y, -3.5941608e-05f) + 0.0024899938f;
    s = primal_product(s, y) + -0.080745436f;
    small = primal_product(head, -2.2272275e-06f) + primal_product(tail, 0.7853982f);
    small += primal_product(primal_product(t, y), s);
    s = primal_product(head, 0.7854004f) + small;
    *cos = primal_with_sign(odd ? s : c, turn + 0x40000000u);
    *sin = primal_with_sign(odd ? c : s, turn);
}
#endif
