/* Types, and names of exported functions.

   Every file except level.c is compiled once for each instruction-set level; the level is the end
   of every exported name, as in primal_static32_v3. Functions have no state, write only to the
   arrays they are given and to scratch memory that they free, and return 0, or PRIMAL_NO_MEMORY. */
#ifndef PRIMAL_COMMON_H
#define PRIMAL_COMMON_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __FAST_MATH__
#error "primal: -ffast-math changes bits: compile without it"
#endif
#if !defined(__SIZEOF_INT128__)
#error "primal: needs a 64-bit target with __int128"
#endif

typedef float f32;
typedef double f64;
typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t i32;
typedef int64_t i64;
typedef __int128 i128;
typedef unsigned __int128 u128;

#define PRIMAL_JOIN_(a, b) primal_##a##_##b
#define PRIMAL_JOIN(a, b) PRIMAL_JOIN_(a, b)
#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif
#define API(name) EXPORT PRIMAL_JOIN(name, LEVEL)
#define NOINLINE __attribute__((noinline))
#define INLINE static inline __attribute__((always_inline))

/* Loops of a few steps over values that have to be registers. */
#define UNROLL _Pragma("GCC unroll 16")

enum { PRIMAL_NO_MEMORY = 1 };

/* 64-bit words in one vector register of this level. */
#if defined(__AVX512F__)
enum { WORDS = 8 };
#elif defined(__AVX2__)
enum { WORDS = 4 };
#else
enum { WORDS = 2 };
#endif

INLINE u64 bits64(f64 x) { u64 u; memcpy(&u, &x, sizeof u); return u; }
INLINE f64 float64(u64 u) { f64 x; memcpy(&x, &u, sizeof x); return x; }

/* Rounds float64 below 2**51 to integers, halves to even, when it is added and subtracted. */
#define ROUNDER 0x1.8p52

INLINE i64 least(i64 a, i64 b) { return a < b ? a : b; }

/* Whether floats multiply and add with one rounding in hardware. */
#if defined(__FMA__) || defined(__aarch64__)
#define HAS_FMA 1
#else
#define HAS_FMA 0
#endif

/* One register of float64; a product and its sum are rounded once where the hardware can. */
typedef f64 reals __attribute__((vector_size(8 * WORDS), aligned(8), may_alias));

INLINE reals splat(f64 x)
{
    reals v;
    for (int i = 0; i < WORDS; i++)
        v[i] = x;
    return v;
}

INLINE reals multiply_add(reals a, reals b, reals c)
{
#if HAS_FMA
    for (int i = 0; i < WORDS; i++)
        c[i] = __builtin_fma(a[i], b[i], c[i]);
    return c;
#else
    return a * b + c;
#endif
}

#endif
