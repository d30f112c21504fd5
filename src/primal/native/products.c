/* Features of frequencies in a table: the definition in primal.exact._digits.

   Row x of inputs is taken as integers X_j = rint(x_j 2**(62 - a)), with 2**a the smallest power of
   two above all |x_j|; row i of frequencies is held as integers F_ij in units of 2**(g_i - 62). The
   phase is floor(sum_j X_j F_ij 2**(a + g_i - 60)) mod 2**64, in units of 2**-64 turn.

   Float64 features take that sum. Float32 features need the phase to 2**-32 turn, and an
   approximation with a proven error decides it, unless it lies too close to the middle between two
   of those; then the sum decides. There are two approximations:

   1. The float64 product sum_j x_j f_ij, in any order, fused or not. With f within 2**-53 of F it
      is off by at most |x| errors_i, errors_i = (d + 2) 2**-53 |f_i| (`product_error`).
   2. For longer phases, the sum of fractions p_j - rint(p_j), which are exact, of p_j = x_j f_ij
      rounded, and of the rest x_j f_ij - p_j, which one fused operation returns exactly, with x_j
      taken as X_j 2**(a - 62) and f as the two float64 whose sum is F. See `long_error`. */
#include "write.h"

WRITE_FLOAT32
WRITE_FLOAT64

/* Frequencies at once, `WIDE` of them for each input: panels of shape (ceil(k / WIDE), d, WIDE). */
enum { WIDE = 16, ROWS = 4, VECTORS = 2 };

typedef struct {
    i64 d, k;
    const f64 *panels;     /* frequencies rounded to float64, zero beyond k */
    const f64 *rests;      /* what is left of them, panels too */
    const f64 *errors;     /* (k,) of the float64 product for |x| = 1, in turns */
    const i64 *mantissas;  /* (k, d) */
    const i64 *exponents;  /* (k,) */
    f64 largest_error;     /* of all errors */
} primal_table;

/* What exact phases of a row need, made when the first of its phases is unsure. */
typedef struct {
    i64 *integers;
    f64 *rounded; /* the same as float64, exact */
    i64 exponent, made;
} exact_row;

/* Products of `rows` rows of x with one panel. */
INLINE void panel_product(const f64 *restrict x, i64 d, int rows, const f64 *restrict panel,
                          f64 *restrict phases, i64 stride)
{
    for (int at = 0; at < WIDE; at += VECTORS * WORDS) {
        reals sums[ROWS][VECTORS];
        UNROLL
        for (int r = 0; r < rows; r++)
            UNROLL
            for (int v = 0; v < VECTORS; v++)
                sums[r][v] = (reals){0};
        for (i64 j = 0; j < d; j++)
            UNROLL
            for (int r = 0; r < rows; r++)
                UNROLL
                for (int v = 0; v < VECTORS; v++) {
                    reals f = *(const reals *)(panel + j * WIDE + at + v * WORDS);
                    sums[r][v] = multiply_add(splat(x[r * d + j]), f, sums[r][v]);
                }
        UNROLL
        for (int r = 0; r < rows; r++)
            UNROLL
            for (int v = 0; v < VECTORS; v++)
                *(reals *)(phases + r * stride + at + v * WORDS) = sums[r][v];
    }
}

INLINE f64 power_of_two(i64 exponent) /* normal numbers only */
{
    return float64((u64)(exponent + 1023) << 52);
}

/* The smallest a with all |x_j| < 2**a; 0 for a row of zeros. */
static i64 row_exponent(const f64 *x, i64 d)
{
    u64 largest = 0;
    for (i64 j = 0; j < d; j++) {
        u64 size = bits64(x[j]) << 1 >> 1;
        largest = size > largest ? size : largest;
    }
    if (largest >> 52)
        return (i64)(largest >> 52) - 1022;
    return largest ? -1010 - __builtin_clzll(largest) : 0; /* 2**-1074 has 63 zeros before it */
}

/* Two factors with the product 2**power, |power| below 2000, each a normal number. */
INLINE void two_factors(i64 power, f64 *first, f64 *second)
{
    i64 half = power / 2;
    *first = power_of_two(half);
    *second = power_of_two(power - half);
}

static f64 row_length(const f64 *x, i64 d)
{
    f64 first, second, total = 0.0;
    i64 a = row_exponent(x, d);
    two_factors(-a, &first, &second);
    for (i64 j = 0; j < d; j++) {
        f64 scaled = x[j] * first * second;
        total += scaled * scaled;
    }
    two_factors(a, &first, &second);
    return __builtin_sqrt(total) * first * second;
}

static void make_exact(const f64 *x, i64 d, exact_row *row)
{
    f64 first, second, back, again;
    row->made = 1;
    row->exponent = row_exponent(x, d);
    two_factors(62 - row->exponent, &first, &second);
    two_factors(row->exponent - 62, &back, &again);
    for (i64 j = 0; j < d; j++) {
        f64 integer = __builtin_rint(x[j] * first * second);
        row->integers[j] = (i64)integer;
        row->rounded[j] = integer * back * again;
    }
}

/* Bits start, ..., start + 63 of sum_j X_j F_j, in units of 2**-64 turn. */
INLINE u64 exact_turn(const exact_row *row, const i64 *restrict f, i64 d, i64 exponent)
{
    i64 start = 60 - row->exponent - exponent;
    const i64 *restrict x = row->integers;
    u64 low = 0;
    i128 high = 0; /* in units of 2**64 */
    if (start < 0)
        start = 0; /* rows of zeros only */
    for (i64 j = 0; j < d; j++) {
        i128 product = (i128)x[j] * f[j];
        low += (u64)product;
        high += (i64)(product >> 64) + (i64)(low < (u64)product);
    }
    if (start < 64)
        return low >> start | ((u64)high << 1) << (63 - start);
    return (u64)(high >> least(start - 64, 127));
}

/* As above for at most seven inputs, whose sums have 128 bits. */
INLINE u64 exact_turn_of_few(const exact_row *row, const i64 *restrict f, i64 d, i64 exponent)
{
    i64 start = 60 - row->exponent - exponent;
    i128 sum = 0;
    for (i64 j = 0; j < d; j++)
        sum += (i128)row->integers[j] * f[j];
    return (u64)(sum >> (start < 0 ? 0 : least(start, 127)));
}

static void exact_turns(const primal_table *t, const exact_row *row, i64 first, i64 n, u64 *turns)
{
    i64 d = t->d;
    const i64 *f = t->mantissas + first * d, *exponents = t->exponents + first;
    if (d <= 7)
        for (i64 i = 0; i < n; i++)
            turns[i] = exact_turn_of_few(row, f + i * d, d, exponents[i]);
    else
        for (i64 i = 0; i < n; i++)
            turns[i] = exact_turn(row, f + i * d, d, exponents[i]);
}

/* Adding it rounds fractions of a turn to 2**-32 turn, and leaves those in the low word. */
#define LOW_WORD 0x1.8p20

INLINE f64 fraction_of(f64 phase)
{
    return phase - ((phase + ROUNDER) - ROUNDER);
}

/* Whether a fraction with an error may round to another multiple of 2**-32 turn. */
INLINE int is_unsure(f64 fraction, f64 error)
{
    f64 off = __builtin_fabs(fraction - ((fraction + LOW_WORD) - LOW_WORD));
    return off + error >= 0x1p-33;
}

/* Round n phases of frequencies first, ... to 2**-32 turn; those that are off by up to
   length errors_i + error and may round another way are computed exactly. */
INLINE void round_phases(const primal_table *t, const f64 *restrict phases, const f64 *x,
                         f64 length, f64 error, i64 first, i64 n, exact_row *row,
                         u32 *restrict turns)
{
    const f64 *restrict errors = t->errors + first;
    i64 unsure = 0;
    for (i64 i = 0; i < n; i++) {
        f64 fraction = fraction_of(phases[i]);
        turns[i] = (u32)bits64(fraction + LOW_WORD);
        unsure += is_unsure(fraction, length * errors[i] + error);
    }
    if (!unsure)
        return;
    if (!row->made)
        make_exact(x, t->d, row);
    for (i64 i = 0; i < n; i++)
        if (is_unsure(fraction_of(phases[i]), length * errors[i] + error)) {
            u64 turn;
            exact_turns(t, row, first + i, 1, &turn);
            turns[i] = (u32)((turn + 0x80000000u) >> 32);
        }
}

/* Above this error of the product more than one phase in ten is unsure. */
#define LARGEST_UNSURE (0.05 * 0x1p-32)

#if HAS_FMA
/* Terms of one sum of fractions: their sum stays within SPAN / 2. */
enum { SPAN = 64 };

/* Error of the second approximation, besides 2**-50 |x| errors_i.

   A sum of SPAN fractions of at most 1/2 is off by at most 2**-53 SPAN**2 / 4; so is, with d / SPAN
   in place of SPAN, the sum of those sums without their whole turns. The rests are at most
   2**-52 |x| |f| together, and every sum of them adds 2**-53 of that. The last sum and the floor of
   the definition add less than 2**-52. */
INLINE f64 long_error(i64 d)
{
    f64 spans = (f64)(d / SPAN + 1);
    return 0x1p-53 * (spans * (SPAN * SPAN / 4) + spans * spans / 4 + 4);
}

/* The second approximation for one panel; x as the integers of the definition have it. */
INLINE void long_phases(const f64 *restrict x, i64 d, const f64 *restrict panel,
                        const f64 *restrict rests, f64 *restrict phases)
{
    f64 totals[WIDE] = {0}, smalls[WIDE] = {0};
    for (i64 begin = 0; begin < d; begin += SPAN) {
        f64 sums[WIDE] = {0};
        for (i64 j = begin; j < least(d, begin + SPAN); j++)
            for (int i = 0; i < WIDE; i++) {
                f64 f = panel[j * WIDE + i], p = x[j] * f;
                smalls[i] += __builtin_fma(x[j], f, -p) + x[j] * rests[j * WIDE + i];
                sums[i] += fraction_of(p);
            }
        for (int i = 0; i < WIDE; i++)
            totals[i] += fraction_of(sums[i]);
    }
    for (int i = 0; i < WIDE; i++)
        phases[i] = fraction_of(totals[i]) + smalls[i];
}
#endif

/* Turns of n frequencies of a row whose product is not precise enough. */
static void long_turns(const primal_table *t, const f64 *x, f64 length, i64 first, i64 n,
                       exact_row *row, u32 *turns)
{
    if (!row->made)
        make_exact(x, t->d, row);
#if HAS_FMA
    f64 phases[CHUNK];
    for (i64 i = 0; i < n; i += WIDE) {
        i64 at = (first + i) * t->d;
        long_phases(row->rounded, t->d, t->panels + at, t->rests + at, phases + i);
    }
    round_phases(t, phases, x, 0x1p-50 * length, long_error(t->d), first, n, row, turns);
#else
    u64 all[CHUNK];
    (void)length;
    exact_turns(t, row, first, n, all);
    for (i64 i = 0; i < n; i++)
        turns[i] = (u32)((all[i] + 0x80000000u) >> 32);
#endif
}

/* Scratch for `ROWS` rows of inputs. */
static int make_rows(exact_row *rows, i64 d)
{
    i64 *memory = malloc(ROWS * 2 * 8 * (size_t)d);
    for (int c = 0; c < ROWS; c++) {
        rows[c].integers = memory + 2 * c * d;
        rows[c].rounded = (f64 *)(rows[c].integers + d);
    }
    return memory != NULL;
}

/* Float32 features of float64 rows x (n, d), or without a finish their turns.

   `phases` (n, k) are the products, or NULL to have them computed here; with `fast` they are taken
   as they are. */
int API(table32)(const f64 *restrict x, const f64 *restrict phases, i64 n, const primal_table *t,
                 i64 fast, const primal_finish *finish, u32 *restrict out)
{
    i64 d = t->d, k = t->k, columns = finish ? finish->k + finish->pairs : k;
    exact_row exact[ROWS];
    f64 products[ROWS * CHUNK];
    u32 turns[CHUNK];
    if (!make_rows(exact, d))
        return PRIMAL_NO_MEMORY;
    for (i64 r = 0; r < n; r += ROWS) {
        i64 rows = least(ROWS, n - r), longs = 0;
        f64 lengths[ROWS];
        for (i64 c = 0; c < rows; c++) {
            exact[c].made = 0;
            lengths[c] = fast ? 0.0 : row_length(x + (r + c) * d, d);
            longs += lengths[c] * t->largest_error > LARGEST_UNSURE;
        }
        for (i64 first = 0; first < k; first += CHUNK) {
            i64 some = least(CHUNK, k - first);
            if (!phases && longs < rows)
                for (i64 p = 0; p < some; p += WIDE) {
                    const f64 *panel = t->panels + (first + p) * d;
                    if (rows == ROWS)
                        panel_product(x + r * d, d, ROWS, panel, products + p, CHUNK);
                    else
                        for (i64 c = 0; c < rows; c++)
                            panel_product(x + (r + c) * d, d, 1, panel, products + c * CHUNK + p,
                                          CHUNK);
                }
            for (i64 c = 0; c < rows; c++) {
                const f64 *own = x + (r + c) * d;
                const f64 *product = phases ? phases + (r + c) * k + first : products + c * CHUNK;
                u32 *row = out + (r + c) * columns;
                if (lengths[c] * t->largest_error > LARGEST_UNSURE)
                    long_turns(t, own, lengths[c], first, some, &exact[c], turns);
                else if (fast)
                    for (i64 i = 0; i < some; i++)
                        turns[i] = (u32)bits64(fraction_of(product[i]) + LOW_WORD);
                else
                    round_phases(t, product, own, lengths[c], 0.0, first, some, &exact[c], turns);
                if (finish)
                    write32(turns, first, some, finish, row);
                else
                    memcpy(row + first, turns, sizeof *turns * (size_t)some);
            }
        }
    }
    free(exact[0].integers);
    return 0;
}

/* Float64 features of rows x (n, d). */
int API(table64)(const f64 *restrict x, i64 n, const primal_table *t, const primal_finish *finish,
                 f64 *restrict out)
{
    exact_row exact[ROWS];
    u64 turns[CHUNK];
    if (!make_rows(exact, t->d))
        return PRIMAL_NO_MEMORY;
    for (i64 r = 0; r < n; r++, x += t->d, out += finish->k + finish->pairs) {
        make_exact(x, t->d, exact);
        for (i64 first = 0; first < t->k; first += CHUNK) {
            i64 some = least(CHUNK, t->k - first);
            exact_turns(t, exact, first, some, turns);
            write64(turns, first, some, finish, out);
        }
    }
    free(exact[0].integers);
    return 0;
}
