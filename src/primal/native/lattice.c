/* Loops of the lattice decoder: the functions of primal.decoding._kernels in the same order of
   operations, none fused. Matrices are row-major; `factor` (m, m) is lower triangular. */
#include "common.h"

/* Take q times row j from row k of the lattice, and keep v the inverse transpose of u. */
static void subtract_row(f64 *factor, u64 *u, u64 *v, i64 m, i64 k, i64 j, f64 q)
{
    u64 times = (u64)(i64)q;
    for (i64 c = 0; c <= j; c++)
        factor[k * m + c] -= q * factor[j * m + c];
    for (i64 c = 0; c < m; c++) {
        u[k * m + c] -= times * u[j * m + c];
        v[j * m + c] += times * v[k * m + c];
    }
}

#define SWAP_ROWS(T, MATRIX)                                                                       \
    for (i64 c = 0; c < m; c++) {                                                                  \
        T kept = MATRIX[r * m + c];                                                                \
        MATRIX[r * m + c] = MATRIX[(r - 1) * m + c];                                               \
        MATRIX[(r - 1) * m + c] = kept;                                                            \
    }

/* Move row k before row i <= k and rotate columns until the factor is triangular again. */
static void insert_row(f64 *factor, u64 *u, u64 *v, i64 m, i64 k, i64 i)
{
    for (i64 r = k; r > i; r--) {
        SWAP_ROWS(f64, factor)
        SWAP_ROWS(u64, u)
        SWAP_ROWS(u64, v)
    }
    for (i64 j = k; j > i; j--) {
        f64 a = factor[i * m + j - 1], b = factor[i * m + j], h = __builtin_sqrt(a * a + b * b);
        f64 cosine = a / h, sine = b / h;
        f64 sign = sine > 0.0 ? -1.0 : 1.0; /* keeps the diagonal positive */
        factor[i * m + j - 1] = h;
        factor[i * m + j] = 0.0;
        for (i64 r = j; r < m; r++) {
            f64 *pair = factor + r * m + j - 1;
            a = pair[0];
            b = pair[1];
            pair[0] = cosine * a + sine * b;
            pair[1] = sign * (cosine * b - sine * a);
        }
    }
}

/* LLL, or deep insertions within a window; `changes` receives the number of row operations. */
int API(reduce_rows)(f64 *factor, u64 *u, u64 *v, i64 m, f64 delta, i64 window, i64 most_steps,
                     i64 *changes)
{
    i64 steps = 0, k = 1;
    *changes = 0;
    while (k < m && steps < most_steps) {
        const f64 *row = factor + k * m;
        for (i64 j = k - 1; j >= 0; j--) {
            f64 ratio = row[j] / factor[j * m + j];
            /* A little more than half: at exactly half, rounding could alternate forever. */
            if (__builtin_fabs(ratio) > 0.501) {
                subtract_row(factor, u, v, m, k, j, __builtin_rint(ratio));
                ++*changes;
            }
            if (window == 1 && j == k - 1
                && row[j] * row[j] + row[k] * row[k]
                       < delta * factor[j * m + j] * factor[j * m + j])
                break; /* exchanged below: no need to reduce it further */
        }
        i64 first = k > window ? k - window : 0, place = k;
        f64 length = 0.0;
        for (i64 c = first; c <= k; c++)
            length += row[c] * row[c];
        for (i64 i = first; i < k && place == k; i++) {
            if (length < delta * factor[i * m + i] * factor[i * m + i])
                place = i;
            else
                length -= row[i] * row[i];
        }
        if (place == k) {
            k++;
            continue;
        }
        insert_row(factor, u, v, m, k, place);
        ++*changes;
        steps++;
        k = place > 1 ? place : 1;
    }
    return 0;
}

/* sum_j factor_ij steps_j - target_i, the turns that the steps before row i ask for. */
INLINE f64 turns_away(const f64 *factor, i64 m, i64 i, const f64 *steps, const f64 *target)
{
    f64 mean = 0.0;
    for (i64 j = 0; j < i; j++)
        mean += factor[i * m + j] * steps[j];
    return mean - target[i];
}

/* One start that is kept, and one of its continuations. */
typedef struct {
    f64 cost, turns, step;
    i64 start;
} child;

/* target (n, m); whole (n, n_kept, m) and costs (n, n_kept), cheapest first; equal costs keep their
   order. */
int API(nearest_plane)(const f64 *factor, const f64 *target, i64 n, i64 m, i64 n_kept,
                       i64 n_children, i64 *whole, f64 *costs)
{
    size_t beam = (size_t)(n_kept * m);
    f64 *steps = malloc(beam * 2 * sizeof(f64) + beam * sizeof(i64)
                        + (size_t)n_kept * sizeof(child));
    if (!steps)
        return PRIMAL_NO_MEMORY;
    f64 *old_steps = steps + beam;
    i64 *old_whole = (i64 *)(old_steps + beam);
    child *kept = (child *)(old_whole + beam);
    for (i64 r = 0; r < n; r++, target += m, costs += n_kept, whole += n_kept * m) {
        i64 n_alive = 1;
        costs[0] = 0.0;
        for (i64 b = 1; b < n_kept; b++)
            costs[b] = __builtin_inf();
        for (i64 i = 0; i < m; i++) {
            i64 n_found = 0;
            for (i64 a = 0; a < n_alive; a++) {
                f64 away = turns_away(factor, m, i, steps + a * m, target);
                f64 nearest = __builtin_rint(away);
                for (i64 c = 0; c < n_children; c++) {
                    child found = {0.0, nearest + (f64)(c - n_children / 2), 0.0, a};
                    found.step = (found.turns - away) / factor[i * m + i];
                    found.cost = costs[a] + found.step * found.step;
                    i64 place = n_found;
                    if (n_found < n_kept)
                        n_found++;
                    else if (found.cost < kept[n_kept - 1].cost)
                        place = n_kept - 1;
                    else
                        continue;
                    for (; place > 0 && kept[place - 1].cost > found.cost; place--)
                        kept[place] = kept[place - 1];
                    kept[place] = found;
                }
            }
            if (n_kept > 1) {
                memcpy(old_steps, steps, (size_t)(n_alive * m) * sizeof *steps);
                memcpy(old_whole, whole, (size_t)(n_alive * m) * sizeof *whole);
            }
            for (i64 b = 0; b < n_found; b++) {
                if (n_kept > 1) {
                    i64 from = kept[b].start * m;
                    memcpy(steps + b * m, old_steps + from, (size_t)i * sizeof *steps);
                    memcpy(whole + b * m, old_whole + from, (size_t)i * sizeof *whole);
                }
                steps[b * m + i] = kept[b].step;
                whole[b * m + i] = (i64)kept[b].turns;
                costs[b] = kept[b].cost;
            }
            n_alive = n_found;
        }
    }
    free(steps);
    return 0;
}

/* Put the turns `trial` among the nearest n_kept unless they are known; returns the bound, or the
   largest cost kept if that is less. */
static f64 keep_point(const f64 *trial, f64 cost, i64 m, i64 n_kept, i64 *whole, f64 *costs,
                      f64 bound)
{
    for (i64 place = 0; place < n_kept && costs[place] < __builtin_inf(); place++) {
        i64 same = 0;
        while (same < m && (f64)whole[place * m + same] == trial[same])
            same++;
        if (same == m)
            return bound;
    }
    i64 place = n_kept - 1;
    for (; place > 0 && costs[place - 1] > cost; place--) {
        costs[place] = costs[place - 1];
        memcpy(whole + place * m, whole + (place - 1) * m, (size_t)m * sizeof *whole);
    }
    costs[place] = cost;
    for (i64 j = 0; j < m; j++)
        whole[place * m + j] = (i64)trial[j];
    return costs[n_kept - 1] < bound ? costs[n_kept - 1] : bound;
}

/* Schnorr and Euchner's search; `finished` (n,) receives which rows ended within most_nodes. */
int API(closest_points)(const f64 *factor, const f64 *target, const f64 *radius, i64 n, i64 m,
                        i64 n_kept, i64 most_nodes, i64 *whole, f64 *costs, u8 *finished)
{
    f64 *away = malloc((size_t)(5 * m + 1) * sizeof(f64));
    if (!away)
        return PRIMAL_NO_MEMORY;
    f64 *trial = away + m, *side = trial + m, *step = side + m, *before = step + m;
    before[0] = 0.0;
    for (i64 r = 0; r < n; r++, whole += n_kept * m, costs += n_kept, target += m) {
        f64 bound = radius[r] < costs[n_kept - 1] ? radius[r] : costs[n_kept - 1];
        i64 i = 0, n_nodes = 0, entering = 1;
        finished[r] = 1;
        for (;;) {
            if (entering) {
                away[i] = turns_away(factor, m, i, step, target);
                trial[i] = __builtin_rint(away[i]);
                side[i] = away[i] > trial[i] ? 1.0 : -1.0;
            }
            step[i] = (trial[i] - away[i]) / factor[i * m + i];
            f64 cost = before[i] + step[i] * step[i];
            if (++n_nodes > most_nodes) {
                finished[r] = 0;
                break;
            }
            if (cost >= bound) {
                /* Trials move away from the nearest, so none after this one is better. */
                if (i == 0)
                    break;
                i--;
            } else if (i < m - 1) {
                before[++i] = cost;
                entering = 1;
                continue;
            } else {
                bound = keep_point(trial, cost, m, n_kept, whole, costs, bound);
            }
            entering = 0;
            trial[i] += side[i];
            side[i] = -side[i] - (side[i] > 0.0 ? 1.0 : -1.0);
        }
    }
    free(away);
    return 0;
}

/* products (n, q) += rows (n, k) matrix (k, q), every sum from its first term to its last; four
   terms at a time, still one after the other, for fewer passes over the products. */
#define ADD_PRODUCTS(NAME, T)                                                                      \
    int API(NAME)(const T *restrict rows, const T *restrict matrix, i64 n, i64 k, i64 q,           \
                  T *restrict products)                                                            \
    {                                                                                              \
        for (i64 i = 0; i < n; i++, rows += k, products += q) {                                    \
            i64 j = 0;                                                                             \
            for (; j + 4 <= k; j += 4) {                                                           \
                T a = rows[j], b = rows[j + 1], c = rows[j + 2], d = rows[j + 3];                  \
                const T *restrict p = matrix + j * q;                                              \
                for (i64 l = 0; l < q; l++)                                                        \
                    products[l] = (((products[l] + a * p[l]) + b * p[q + l]) + c * p[2 * q + l])   \
                                  + d * p[3 * q + l];                                              \
            }                                                                                      \
            for (; j < k; j++)                                                                     \
                for (i64 l = 0; l < q; l++)                                                        \
                    products[l] += rows[j] * matrix[j * q + l];                                    \
        }                                                                                          \
        return 0;                                                                                  \
    }
ADD_PRODUCTS(add_real_products, f64)
ADD_PRODUCTS(add_word_products, u64)

/* Fincke and Pohst: `listed` (n, m) receives all integers whose squared length is below `radius`;
   `n_found` their number, -1 if there are more than n or it takes more than most_nodes steps. */
int API(short_vectors)(const f64 *factor, f64 radius, i64 most_nodes, i64 n, i64 m, i64 *listed,
                       i64 *n_found)
{
    f64 *step = calloc((size_t)(4 * m + 1), sizeof(f64));
    if (!step)
        return PRIMAL_NO_MEMORY;
    f64 *trial = step + m, *last = trial + m, *before = last + m;
    i64 n_nodes = 0, i = 0, entering = 1;
    *n_found = 0;
    while (i >= 0) {
        if (++n_nodes > most_nodes) {
            *n_found = -1;
            break;
        }
        f64 mean = 0.0, diagonal = factor[i * m + i];
        for (i64 j = 0; j < i; j++)
            mean += factor[i * m + j] * step[j];
        if (entering) {
            f64 left = radius - before[i];
            f64 reach = diagonal * __builtin_sqrt(left > 0.0 ? left : 0.0);
            trial[i] = __builtin_ceil(mean - reach);
            last[i] = __builtin_floor(mean + reach);
        } else {
            trial[i] += 1.0;
        }
        if (trial[i] > last[i]) {
            i--;
            entering = 0;
            continue;
        }
        step[i] = (trial[i] - mean) / diagonal;
        before[i + 1] = before[i] + step[i] * step[i];
        entering = i < m - 1;
        if (entering) {
            i++;
            continue;
        }
        if (*n_found == n) {
            *n_found = -1;
            break;
        }
        for (i64 j = 0; j < m; j++)
            listed[*n_found * m + j] = (i64)trial[j];
        ++*n_found;
    }
    free(step);
    return 0;
}
