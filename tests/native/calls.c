/* One call of the C core for targets without Python: what stdin describes, its output to stdout.

   14 numbers: kind, n, d, k, columns, block, x_is_float64, m, n_blocks, skip, whole, power, panels,
   bytes of the output; then the arrays of the kind, in the order of the calls below. */
#include <stdio.h>

#include "hadamard.h"

typedef struct {
    i64 d, k;
    const void *panels, *rests, *errors, *mantissas, *exponents;
    f64 largest_error;
} table_form;

extern int API(static32)(const void *, const void *, i64, const primal_finish *, void *);
extern int API(static64)(const void *, const void *, i64, const primal_finish *, void *);
extern int API(table32)(const void *, const void *, i64, const table_form *, i64,
                        const primal_finish *, void *);
extern int API(table64)(const void *, i64, const table_form *, const primal_finish *, void *);
extern int API(hadamard32)(const void *, i64, i64, const primal_hadamard *, const primal_finish *,
                           void *);
extern int API(hadamard64)(const void *, i64, const primal_hadamard *, const primal_finish *,
                           void *);

static void *kept[16]; /* so that no memory is lost for the leak check */

static void *array(i64 bytes)
{
    static int n_kept;
    void *memory = kept[n_kept++] = malloc((size_t)bytes + 1);
    if (!memory || fread(memory, 1, (size_t)bytes, stdin) != (size_t)bytes)
        exit(3);
    return memory;
}

#define CALL(name) PRIMAL_JOIN(name, LEVEL)
int main(void)
{
    i64 *h = array(14 * 8), kind = h[0], n = h[1], d = h[2], k = h[3], wide = kind % 2, status;
    void *out = kept[15] = malloc((size_t)h[13]), *amplitudes = array(k * (wide ? 8 : 4));
    primal_finish finish = {h[5], k, h[4] - k, amplitudes, NULL};
    if (kind < 2) {
        void *increments = array(8 * k), *positions = array(8 * n);
        status = wide ? CALL(static64)(increments, positions, n, &finish, out)
                      : CALL(static32)(increments, positions, n, &finish, out);
    } else if (kind < 4) {
        void *x = array(8 * n * d), *panels = array(h[12]), *rests = array(h[12]);
        void *errors = array(8 * k), *mantissas = array(8 * k * d), *exponents = array(8 * k);
        table_form t = {d, k, panels, rests, errors, mantissas, exponents, 0.0};
        for (i64 i = 0; i < k; i++)
            t.largest_error = t.largest_error > ((f64 *)errors)[i] ? t.largest_error
                                                                   : ((f64 *)errors)[i];
        status = wide ? CALL(table64)(x, n, &t, &finish, out)
                      : CALL(table32)(x, NULL, n, &t, 0, &finish, out);
    } else {
        void *x = array((h[6] ? 8 : 4) * n * d), *signs = array(8 * (1 + 2 * h[8]) * h[7]);
        void *factors = array(8 * h[8] * h[7]);
        primal_hadamard t = {d, h[7], h[8], h[9], k, (u64)h[10], h[11], signs, factors};
        status = wide ? CALL(hadamard64)(x, n, &t, &finish, out)
                      : CALL(hadamard32)(x, h[6], n, &t, &finish, out);
    }
    fwrite(out, 1, (size_t)h[13], stdout);
    return (int)status;
}
