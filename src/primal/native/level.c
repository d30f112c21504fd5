/* The instruction-set levels that this processor and its operating system support.

   CPUID and XGETBV are asked directly: the compilers' own functions need a library that not every
   target of ours has. */
#include <stdint.h>

#ifdef _WIN32
__declspec(dllexport)
#else
__attribute__((visibility("default")))
#endif
const char *primal_levels(void); /* names, best first, apart by spaces */

#if defined(__x86_64__)
#include <cpuid.h>

/* Bits of a register of CPUID. */
#define HAS(REGISTER, BITS) (((REGISTER) & (BITS)) == (BITS))

const char *primal_levels(void)
{
    uint32_t a, b, c, d, low, high;
    /* FMA, MOVBE, OSXSAVE, AVX, F16C */
    if (!__get_cpuid(1, &a, &b, &c, &d)
        || !HAS(c, 1u << 12 | 1u << 22 | 1u << 27 | 1u << 28 | 1u << 29))
        return "base";
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    (void)high;
    if (!__get_cpuid(0x80000001u, &a, &b, &c, &d) || !HAS(c, 1u << 5)) /* LZCNT */
        return "base";
    /* BMI1, AVX2, BMI2, and that the operating system saves their registers */
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !HAS(b, 1u << 3 | 1u << 5 | 1u << 8)
        || !HAS(low, 0x6u))
        return "base";
    /* AVX-512 F, DQ, CD, BW, VL, and their registers */
    if (!HAS(b, 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31) || !HAS(low, 0xE6u))
        return "v3 base";
    return "v4 v3 base";
}
#else
const char *primal_levels(void)
{
    return "base";
}
#endif
