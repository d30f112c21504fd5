#include <stdint.h>

#ifdef __FAST_MATH__
#error "primal: -ffast-math changes bits: compile without it"
#endif
#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ != 0 && __FLT_EVAL_METHOD__ != 16
#error "primal: float must be computed as float: on x86 compile with -msse2 -mfpmath=sse"
#endif

/* Keep a loop from becoming a call of memset or memcpy: there may be no C library. */
#ifdef __GNUC__
#define PRIMAL_LOOP() __asm__ volatile("")
#else
#define PRIMAL_LOOP() (void)0
#endif

/* What the C standard leaves open and this code needs. */
typedef char primal_int_has_32_bits[sizeof(int) >= 4 ? 1 : -1];
typedef char primal_float_has_32_bits[sizeof(float) == 4 ? 1 : -1];
typedef char primal_shifts_keep_signs[(-3 >> 1) == -2 ? 1 : -1];
