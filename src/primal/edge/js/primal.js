// Primal's StaticPrime, DynamicPrime and KernelPrime with the bits of the Python library: see docs/edge.md.
const { floor, abs, sqrt, imul, fround: f } = Math;
const WORD = 2 ** 32, NEAREST = 1.5 * 2 ** 52; // v + NEAREST - NEAREST is the whole number nearest v

// Whole numbers in base64, or an array of them as it is.
const unpacked = (type, data) =>
  typeof data === "string" ? new type(Uint8Array.from(atob(data), (c) => c.charCodeAt()).buffer) : data;

// v 2**n in two steps, for 2**n alone may be out of range.
const scaled = (v, n) => v * 2 ** (n >> 1) * 2 ** (n - (n >> 1));

// The smallest e with |v| < 2**e; 0 for 0.
const double = new Float64Array(1), words = new Uint32Array(double.buffer);
function exponent(v) {
  double[0] = v;
  const biased = (words[1] >>> 20) & 2047;
  return biased ? biased - 1022 : v && exponent(v * 2 ** 54) - 54;
}

function primes(first, last) {
  const most = floor(last * (Math.log(last + 2) + Math.log(Math.log(last + 9)))) + 9;
  const crossed = new Uint8Array(most), found = [];
  for (let p = 2; found.length < last; p++) {
    if (crossed[p]) continue;
    found.push(p);
    for (let q = p * p; q < most; q += p) crossed[q] = 1;
  }
  return found.slice(first);
}

// floor(2**bits sigma sqrt(p)), exactly.
function root(p, sigma, bits) {
  const t = exponent(sigma) - 53, m = BigInt(scaled(sigma, -t)), s = 2 * (t + bits);
  const v = (m * m * BigInt(p) << BigInt(s > 0 ? s : 0)) >> BigInt(s < 0 ? -s : 0);
  let r = 1n << BigInt((v.toString(2).length + 1) >> 1), next = r;
  do [r, next] = [next, (next + v / (next || 1n)) >> 1n]; while (next < r);
  return r;
}

// Float32 waves of phases in units of 2**-32 turn, every operation rounded on its own.
const [C0, C1, C2, C3] = [-0x13bd3cc * 2 ** -26, 0x103c1ae * 2 ** -30, -0x155b146 * 2 ** -36, 0x1d47d5e * 2 ** -43];
const [S0, S1, S2] = [-0x14abbba * 2 ** -28, 0x1465e54 * 2 ** -33, -0x12d8004 * 2 ** -39];
const HEAD = 3217 / 4096, REST = f(Math.PI / 4 - HEAD), WHOLE = f(Math.PI / 4), UNIT = 2 ** -29;
function waves(turns, first, last, z, at, step, toSine) {
  for (let i = first; i < last; i++, at += step) {
    const quadrant = (turns[i] + 0x20000000) >>> 30, rest = (turns[i] - (quadrant << 30)) | 0;
    const size = abs(rest), tail = size & 0x3ffff;
    const head = f((size - tail) * UNIT), low = f(tail * UNIT), t = f(head + low), y = f(t * t);
    const c = f(f(f(f(f(f(f(f(C3 * y) + C2) * y) + C1) * y) + C0) * y) + 1);
    const odd = f(f(t * y) * f(f(f(f(S2 * y) + S1) * y) + S0));
    const positive = f(f(head * HEAD) + f(f(f(head * REST) + f(low * WHOLE)) + odd));
    const s = rest < 0 ? -positive : positive;
    const cos = quadrant & 1 ? s : c, sin = quadrant & 1 ? c : s;
    z[at] = (quadrant + 1) & 2 ? -cos : cos;
    z[at + toSine] = quadrant & 2 ? -sin : sin;
  }
}

// What both maps have, where row(source, i, turns) writes the phases of one row.
class Prime {
  // Phases of all rows, Uint32Array of n k, in units of 2**-32 turn.
  turns(source) {
    const n = this.rows(source), { k } = this, turns = new Uint32Array(n * k);
    for (let i = 0; i < n; i++) this.row(source, i, turns.subarray(i * k, (i + 1) * k));
    return turns;
  }

  // Cosines and sines of such phases, Float32Array of n D.
  features(turns) {
    const { k } = this, z = new Float32Array(2 * turns.length), block = this.layout !== "interleaved";
    for (let i = 0; i < turns.length; i += k) waves(turns, i, i + k, z, 2 * i, block ? 1 : 2, block ? k : 1);
    return z;
  }

  encode(source) {
    return this.features(this.turns(source));
  }
}

// Positions are whole numbers of at most 2**53.
export class StaticPrime extends Prime {
  constructor({ D, sigma = 1, start = 0, layout, increments }) {
    super();
    Object.assign(this, { k: D / 2, layout });
    this.increments = unpacked(BigUint64Array, increments) ??
      BigUint64Array.from(primes(start, start + D / 2), (p) => root(p, sigma, 64));
    this.words = new Uint32Array(this.increments.buffer); // low, high, low, ...
  }

  rows(positions) {
    for (const t of positions) if (!Number.isSafeInteger(t)) throw RangeError(`position ${t} is no whole number up to 2**53`);
    return positions.length;
  }

  row(positions, i, turns) {
    const low = positions[i] >>> 0, high = floor(positions[i] / WORD) | 0, top = low >>> 16, bottom = low & 65535;
    for (let j = 0; j < turns.length; j++) {
      const l = this.words[2 * j], h = this.words[2 * j + 1];
      turns[j] = imul(low, h) + imul(high, l) + floor((l * top + floor((l * bottom) / 65536) + 32768) / 65536);
    }
  }
}

// Rows of d numbers, one after the other. Frequencies: a table from Python, floats (k d of them), or
// the paper's, which are made here.
export class DynamicPrime extends Prime {
  constructor({ d, D, sigma = 1, layout, basis = "paper", layer_norm, primes: sampling = "consecutive", table, frequencies }) {
    super();
    const k = D / 2;
    Object.assign(this, { d, k, layout });
    if (layer_norm) throw Error("layer_norm is for Python only");
    if (table?.factors) {
      Object.assign(this, table, { row: hadamardRow, signs: unpacked(Uint8Array, table.signs), factors: unpacked(Uint32Array, table.factors) });
      this.largest = sqrt(d) * this.m ** 1.5 * this.factors.reduce((a, b) => (a > b ? a : b)) * this.scale;
      return;
    }
    let { exponents, mantissas } = table ?? {};
    if (table) mantissas = unpacked(BigInt64Array, mantissas);
    else if (frequencies) {
      exponents = Array.from({ length: k }, (_, i) => exponent(Math.max(...frequencies.slice(i * d, (i + 1) * d).map(abs))));
      mantissas = BigInt64Array.from(frequencies, (v, i) => BigInt(floor(scaled(v, 62 - exponents[floor(i / d)]))));
    } else if (basis === "paper" && sampling === "consecutive") {
      const p = primes(0, k * d), scale = (i) => sigma[i] ?? sigma;
      exponents = Array.from({ length: k }, (_, i) => exponent(scale(i) * sqrt(p[i * d + d - 1])));
      mantissas = BigInt64Array.from(p, (q, j) => root(q, scale(floor(j / d)), 62 - exponents[floor(j / d)]));
    } else throw Error(`basis ${basis} (${sampling} primes) needs a table: primal.edge.to_js(map)`);
    Object.assign(this, { exponents, mantissas });
    this.frequencies = Float64Array.from(mantissas, (m, j) => scaled(Number(m), exponents[floor(j / d)] - 62));
    this.largest = 0;
    // Error of a sum of d products, in units of 2**-32 turn, for a row of length one.
    this.errors = Float64Array.from({ length: k }, (_, i) => {
      let sum = 0, squares = 0;
      for (let j = i * d; j < (i + 1) * d; j++) {
        sum += abs(this.frequencies[j]);
        squares += scaled(this.frequencies[j], -exponents[i]) ** 2;
      }
      if (sum > this.largest) this.largest = sum;
      return scaled(sqrt(squares) * (d + 2) * 1.00001, exponents[i] - 21);
    });
  }

  rows(x) {
    if (x.length % this.d) throw RangeError(`${x.length} values are no rows of ${this.d}`);
    for (const v of x) if (!(abs(v) <= WORD / this.largest)) throw RangeError(`x = ${v} is not below ${WORD / this.largest}`);
    return x.length / this.d;
  }

  row(x, i, turns) {
    const { d, frequencies: F, errors } = this, from = i * d, k = turns.length;
    let squares = 0;
    for (let j = 0; j < d; j++) squares += x[from + j] ** 2;
    // Squares that were lost make nothing sure.
    const length = squares > 1e-290 && squares < 1e290 ? sqrt(squares) : Infinity;
    let integers;
    for (let c = 0; c < k; c += 4) {
      // Four at once; the last ones may be counted twice.
      const at = c + 4 <= k ? c : Math.max(k - 4, 0);
      let p = at * d, a = 0, b = 0, e = 0, g = 0;
      for (let j = from; j < from + d; j++, p++) {
        const v = x[j];
        a += v * F[p];
        b += v * F[p + d];
        e += v * F[p + 2 * d];
        g += v * F[p + 3 * d];
      }
      for (let j = at; j < at + 4 && j < k; j++) {
        const units = (a - (a + NEAREST - NEAREST)) * WORD, nearest = units + NEAREST - NEAREST;
        turns[j] = nearest;
        if (!(abs(units - nearest) < 0.5 - length * errors[j])) turns[j] = this.exact((integers ??= integerRow(x, from, d)), j);
        a = b, b = e, e = g;
      }
    }
  }

  // One phase by the definition: floor(S 2**(a + g - 60)) mod 2**64, rounded to 32 bits.
  exact({ a, X }, i) {
    let S = 0n;
    for (let j = 0; j < this.d; j++) S += X[j] * this.mantissas[i * this.d + j];
    const shift = BigInt(a + this.exponents[i] - 60);
    S = shift < 0n ? S >> -shift : S << shift;
    return Number(BigInt.asUintN(32, (S + 0x80000000n) >> 32n));
  }
}

// Features of a kernel, from Python's values: x times scales, phases plus offsets, waves times
// amplitudes, of which a row of features has as many as there are.
export class KernelPrime extends DynamicPrime {
  constructor({ scales, offsets, amplitudes, ...values }) {
    super(values);
    Object.assign(this, { scales, offsets: unpacked(Uint32Array, offsets), amplitudes: unpacked(Float32Array, amplitudes) });
  }

  turns(x) {
    const { d, k, scales, offsets } = this, turns = super.turns(scales ? Float64Array.from(x, (v, i) => v * scales[i % d]) : x);
    return offsets ? turns.map((t, i) => t + offsets[i % k]) : turns;
  }

  features(turns) {
    const { k, amplitudes } = this, D = amplitudes.length, waves = super.features(turns);
    const z = new Float32Array((turns.length / k) * D);
    for (let i = 0, at = 0; i < z.length; at += 2 * k) for (let j = 0; j < D; j++) z[i++] = waves[at + j] * amplitudes[j];
    return z;
  }
}

// A row as whole numbers in units of 2**(a - 62), halves to the even one.
function integerRow(x, from, d) {
  const row = Array.from({ length: d }, (_, j) => x[from + j]), a = exponent(Math.max(...row.map(abs)));
  return { a, X: row.map((v) => {
    const s = scaled(v, 62 - a), half = s < 0 ? -(2 ** 52) : 2 ** 52;
    return BigInt(abs(s) < 2 ** 52 ? s + half - half : s);
  }) };
}

// Basis hadamard: 64-bit words that wrap, as floats: m high halves, then m low ones.
const split = (v) => v * 134217729 - (v * 134217729 - v);
function hadamardRow(x, i, turns) {
  const { d, m, factors, scale } = this, e0 = exponent(scale), c = scaled(scale, -e0), ch = split(c), cl = c - ch;
  const [start, first, words] = (this.buffers ??= [0, 1, 2].map(() => new Float64Array(2 * m)));
  for (let j = 0; j < d; j++) {
    // |x| c 2**64 = h + l exactly (Dekker), rounded to a whole number, halves up.
    const v = abs(x[i * d + j]), e = exponent(v), y = scaled(v, -e), yh = split(y), yl = y - yh, p = y * c;
    const h = scaled(p, e + e0 + 64), l = scaled(yh * ch - p + yh * cl + yl * ch + yl * cl, e + e0 + 64);
    const whole = floor(h), lw = floor(l), more = h === whole ? lw + (l - lw >= 0.5) : h - whole - 0.5 >= -l;
    const sign = x[i * d + j] < 0 ? -1 : 1, high = floor(whole / WORD);
    start[j] = sign * (high % WORD);
    start[m + j] = sign * (whole - high * WORD + more);
  }
  transform(start, first, this.signs, 0);
  for (let b = 0; b * m < turns.length; b++) {
    transform(first, words, this.signs, (1 + 2 * b) * m);
    transform(words, words, this.signs, (2 + 2 * b) * m);
    for (let j = 0, t = b * m; j < m && t < turns.length; j++, t++) {
      const k = factors[t], low = words[m + j];
      turns[t] = imul(k, words[j]) + floor((k * (low >>> 16) + floor((k * (low & 65535)) / 65536) + 32768) / 65536);
    }
  }
}

// Words with signs times the Hadamard matrix. Halves stay below 2**53 until they are carried.
function transform(from, to, minus, at) {
  const m = from.length / 2;
  for (let j = 0; j < m; j++) {
    const sign = 1 - 2 * minus[at + j];
    to[j] = sign * from[j];
    to[m + j] = sign * from[m + j];
  }
  for (let half = 1; half < m; half *= 2) {
    for (let b = 0; b < 2 * m; b += 2 * half) {
      for (let j = b; j < b + half; j++) {
        const p = to[j], q = to[j + half];
        to[j] = p + q;
        to[j + half] = p - q;
      }
    }
  }
  for (let j = 0; j < m; j++) {
    const carry = floor(to[m + j] / WORD);
    to[m + j] -= carry * WORD;
    to[j] = (to[j] + carry) >>> 0;
  }
}

// Vector codes and their index, by the specification in docs/vectors.md. Rows are flat arrays of n d numbers.
const rint = (v) => v + NEAREST - NEAREST, top = (v) => v.reduce((t, a) => (abs(a) > t ? abs(a) : t), 0);
const LEVELS = { 1: [1], 2: [3, 10], 4: [3, 9, 15, 22, 29, 38, 48, 64] };
const THRESHOLDS = { 1: [], 2: [4021], 4: [1058, 2140, 3275, 4503, 5887, 7551, 9834] };

function hadamard(y, m) {
  for (let half = 1; half < m; half *= 2)
    for (let i = 0; i < y.length; i += 2 * half)
      for (let j = i; j < i + half; j++) {
        const a = y[j], b = y[j + half];
        y[j] = a + b;
        y[j + half] = a - b;
      }
}

// Row-major (rows, columns) to (columns, rows).
function transpose(y, rows, columns) {
  const z = y.slice();
  for (let i = 0; i < rows; i++) for (let j = 0; j < columns; j++) y[j * rows + i] = z[i * columns + j];
}

export class VectorCodes {
  constructor({ d, bits = 4, metric = "cosine", center }) {
    let m = 8;
    while (m < d && m < 256) m *= 2;
    while (m > 8 && m * Math.ceil(d / m) > Math.max(8 * Math.ceil(d / 8), d + floor(d / 32))) m /= 2;
    const r = Math.ceil(d / m), D = m * r, half = 1 << (bits - 1);
    Object.assign(this, { d, bits, metric, m, r, D, gain: m ** 3, bytes: (D * bits) / 8 });
    this.center = center && Float32Array.from(center);
    this.signs = Int8Array.from(primes(0, 3 * D), (p) => (root(p, 1048583, 1) & 1n ? 1 : -1));
    const level = (i) => (bits === 8 ? i - 128 : i < half ? -LEVELS[bits][half - 1 - i] : LEVELS[bits][i - half]);
    this.levels = Int8Array.from({ length: 1 << bits }, (_, i) => level(i));
  }

  // Integers X with v ~ X 2**t and m**3 |X|**2 <= 2**60.
  words(v) {
    const e = exponent(top(v)), X = v.map((a) => rint(scaled(a, 18 - e))), square = () => X.reduce((s, a) => s + a * a, 0);
    let shift = 0;
    for (const sum = square(); sum > (2 ** 60 / this.gain) * 4 ** shift; shift++);
    X.forEach((a, i) => (X[i] = (a + ((1 << shift) >> 1)) >> shift));
    const t = e - 18 + shift, squares = square(), unit = 2 ** t;
    return { X, t, squares, length: squares * (unit * unit) };
  }

  rotated(row) {
    let v = Float64Array.from(row);
    if (v.length !== this.d || !v.every(Number.isFinite)) throw RangeError(`a row must have ${this.d} finite numbers`);
    if (this.metric === "cosine") {
      const e = exponent(top(v)), u = v.map((a) => rint(scaled(a, 20 - e))), length = sqrt(u.reduce((s, a) => s + a * a, 0)) || 1;
      v = u.map((a) => a / length);
    }
    const { X, t, squares, length } = this.words(this.center ? v.map((a, i) => a - this.center[i]) : v);
    const offset = this.metric === "ip" ? length - this.words(v).length : length;
    if (!Number.isFinite(f(offset))) throw RangeError("a row is too long: squared lengths must be below 3.4e38");
    const { m, r, D, signs } = this, y = new Int32Array(D);
    y.set(X);
    for (let round = 0; round < 3; round++) {
      for (let i = 0; i < D; i++) y[i] *= signs[round * D + i];
      hadamard(y, m);
      if (round < 2) transpose(y, r, m);
    }
    return { y, t, squares, offset };
  }

  encode(x) {
    const { d, bits, D, bytes, gain, levels } = this, n = x.length / d, half = 1 << (bits - 1), each = 8 / bits;
    const codes = new Uint8Array(n * bytes), factors = new Float32Array(n), offsets = new Float32Array(n);
    for (let k = 0; k < n; k++) {
      const { y, t, squares, offset } = this.rotated(x.slice(k * d, (k + 1) * d)), most = top(y) || 1;
      const rms = sqrt((squares * gain) / D), limits = THRESHOLDS[bits]?.map((h) => floor(rms * (h / 4096)));
      let product = 0;
      for (let i = 0; i < D; i++) {
        let place = 0;
        if (bits === 8) place = rint((y[i] * 127) / most) + 128;
        else {
          for (const limit of limits) place += abs(y[i]) > limit;
          place = y[i] < 0 ? half - 1 - place : half + place;
        }
        product += y[i] * levels[place];
        codes[k * bytes + floor(i / each)] |= place << (bits * (i % each));
      }
      factors[k] = ((squares * gain) / (product || 1)) * 2 ** t;
      offsets[k] = offset;
    }
    return { codes, factors, offsets };
  }

  // Levels of row k of codes.
  row(codes, k) {
    const { bits, bytes, D, levels } = this, each = 8 / bits, mask = (1 << bits) - 1;
    return Int32Array.from({ length: D }, (_, i) => levels[(codes[k * bytes + floor(i / each)] >> (bits * (i % each))) & mask]);
  }

  decode({ codes, factors, offsets }) {
    const { d, m, r, D, signs, gain, bits } = this, x = new Float32Array(factors.length * d);
    factors.forEach((factor, k) => {
      const y = this.row(codes, k), norm = factor * y.reduce((s, a) => s + a * a, 0);
      const scale = this.metric === "ip" ? factor * ({ 1: 0.637, 2: 0.883, 4: 0.991 }[bits] ?? 1) / gain : norm > 0 ? offsets[k] / norm : 0;
      for (let round = 2; round >= 0; round--) {
        if (round < 2) transpose(y, m, r);
        hadamard(y, m);
        for (let i = 0; i < D; i++) y[i] *= signs[round * D + i];
      }
      for (let i = 0; i < d; i++) x[k * d + i] = this.center ? y[i] * scale + this.center[i] : y[i] * scale;
    });
    return x;
  }

  // A rotated query in 8 bits, 12 for 8-bit codes, and twice its unit.
  query(row) {
    const { y, t, offset } = this.rotated(row), kept = this.bits === 8 ? 11 : 7, most = top(y);
    let shift = Math.max(32 - Math.clz32(most) - kept, 0);
    shift += (most + ((1 << shift) >> 1)) >> shift === 1 << kept;
    return { q: y.map((a) => (a + ((1 << shift) >> 1)) >> shift), twice: 2 ** (t + shift + 1) / this.gain, offset };
  }

  // The k nearest of some rows, or of all: [score, row], best first; the first row among equal ones.
  nearest({ codes, factors, offsets }, { q, twice }, k, rows) {
    const { bits, bytes, levels } = this, each = 8 / bits, mask = (1 << bits) - 1, found = [], n = rows?.length ?? factors.length;
    for (let i = 0; i < n; i++) {
      const row = rows ? rows[i] : i;
      let ip = 0;
      for (let j = 0, at = row * bytes; j < q.length; at++)
        for (let c = codes[at], g = 0; g < each; g++, c >>= bits) ip += levels[c & mask] * q[j++];
      const score = offsets[row] - ip * factors[row] * twice;
      if (found.length === k && !(score < found[k - 1][0])) continue;
      let j = found.length < k ? found.length : k - 1;
      for (; j > 0 && found[j - 1][0] > score; j--) found[j] = found[j - 1];
      found[j] = [score, row];
    }
    return found;
  }
}

// An index that Python saved: new Index(arrayBuffer).search(q, k).
export class Index {
  constructor(file) {
    const length = Number(new DataView(file).getBigUint64(0, true)), types = { U8: Uint8Array, F32: Float32Array, I64: BigInt64Array };
    const { __metadata__, ...header } = JSON.parse(new TextDecoder().decode(new Uint8Array(file, 8, length)));
    const spec = JSON.parse(__metadata__.primal);
    const array = (name) => {
      if (!(name in header)) return undefined;
      const { dtype, data_offsets: [from, to] } = header[name], type = types[dtype];
      return new type(file, 8 + length + from, (to - from) / type.BYTES_PER_ELEMENT);
    };
    if (spec.type !== "Index" || spec.version !== 1) throw RangeError(`no index of version 1: ${spec.type} ${spec.version}`);
    const stage = (s, end) => s && { codes: new VectorCodes(s), rows: Object.fromEntries(["codes", "factors", "offsets"].map((name) => [name, array(name + end)])) };
    Object.assign(this, { first: stage(spec.codes, ""), second: stage(spec.rescore, "2"), oversample: spec.oversample, ids: array("ids") });
  }

  search(q, k = 10) {
    const { first, second, oversample, ids } = this, metric = first.codes.metric;
    let query = first.codes.query(q), found = first.codes.nearest(first.rows, query, second ? k * oversample : k);
    if (second) {
      query = second.codes.query(q);
      found = second.codes.nearest(second.rows, query, k, found.map(([, row]) => row).sort((a, b) => a - b));
    }
    const value = (v) => (metric === "l2" ? v : (metric === "cosine" ? 1 : 0) - v / 2);
    return { scores: Float64Array.from(found, ([score]) => value(score + query.offset)), ids: found.map(([, row]) => Number(ids?.[row] ?? row)) };
  }
}
