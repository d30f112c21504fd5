"use strict";
// The library's DynamicPrime (basis "paper", d = 2) in the page, bit for bit: phases in BigInt,
// waves with every operation rounded to float32. No number here depends on the browser but the
// arctangent of the inverse.
const primal = (() => {
  const BITS = 62;

  // The first n primes.
  function primes(n) {
    const found = [];
    for (let c = 2; found.length < n; c++) {
      if (found.every((p) => p * p > c || c % p !== 0)) found.push(c);
    }
    return found;
  }

  // The smallest e with |v| < 2**e; 0 for 0 (frexp of the C library).
  const view = new DataView(new ArrayBuffer(8));
  function exponent(v) {
    if (v === 0) return 0;
    view.setFloat64(0, v);
    const biased = (view.getUint32(0) >>> 20) & 0x7ff;
    return biased === 0 ? exponent(v * 2 ** 54) - 54 : biased - 1022;
  }

  // A positive float as m * 2**t with whole m.
  function fraction(v) {
    const t = exponent(v) - 53;
    return { m: BigInt(scaled(v, -t)), t };
  }

  // v * 2**n in two steps, for 2**n alone may be out of range.
  function scaled(v, n) {
    const half = Math.trunc(n / 2);
    return v * 2 ** half * 2 ** (n - half);
  }

  function floorRoot(v) {
    if (v < 2n) return v;
    let r = 1n << BigInt((v.toString(2).length + 1) >> 1);
    for (;;) {
      const next = (r + v / r) >> 1n;
      if (next >= r) return r;
      r = next;
    }
  }

  // Rows of sigma * sqrt(p) as whole numbers in units of 2**(g - 62), each row with its own g.
  function frequencies(D, sigma) {
    const { m, t } = fraction(sigma);
    const p = primes(D);
    const rows = [];
    for (let i = 0; i < D / 2; i++) {
      const pair = [p[2 * i], p[2 * i + 1]];
      const values = pair.map((q) => sigma * Math.sqrt(q));
      const g = exponent(values[1]);
      const shift = BigInt(2 * (t + BITS - g));
      const mantissas = pair.map((q) => {
        const square = m * m * BigInt(q);
        return floorRoot(shift >= 0n ? square << shift : square >> -shift);
      });
      rows.push({ mantissas, g, values });
    }
    return rows;
  }

  // The nearest whole number, halves to the even one.
  function nearest(v) {
    const size = Math.abs(v);
    if (size >= 2 ** 52) return BigInt(v);
    const rounded = size + 2 ** 52 - 2 ** 52;
    return BigInt(v < 0 ? -rounded : rounded);
  }

  // Points as whole numbers in units of 2**(a - 62), each point with its own a.
  function integerPoints(points) {
    return points.map((x) => {
      const a = exponent(Math.max(Math.abs(x[0]), Math.abs(x[1])));
      return { a, X: x.map((v) => nearest(scaled(v, BITS - a))) };
    });
  }

  // Phases in units of 2**-32 turn: floor(S * 2**(a + g - 60)) mod 2**64, rounded to 32 bits.
  function phases(integers, rows) {
    const turns = new Uint32Array(integers.length * rows.length);
    let at = 0;
    for (const { a, X } of integers) {
      for (const { g, mantissas } of rows) {
        const S = X[0] * mantissas[0] + X[1] * mantissas[1];
        const shift = a + g - 60;
        const whole = shift < 0 ? S >> BigInt(-shift) : S << BigInt(shift);
        turns[at++] = Number(BigInt.asUintN(32, (whole + 0x80000000n) >> 32n));
      }
    }
    return turns;
  }

  const f = Math.fround;
  const COSINE = [-0x13bd3cc * 2 ** -26, 0x103c1ae * 2 ** -30, -0x155b146 * 2 ** -36, 0x1d47d5e * 2 ** -43];
  const SINE = [-0x14abbba * 2 ** -28, 0x1465e54 * 2 ** -33, -0x12d8004 * 2 ** -39];
  const HEAD = 3217 / 4096;
  const REST = f(Math.PI / 4 - HEAD);
  const WHOLE = f(Math.PI / 4);

  function horner(coefficients, y) {
    let value = coefficients[coefficients.length - 1];
    for (let i = coefficients.length - 2; i >= 0; i--) value = f(f(value * y) + coefficients[i]);
    return value;
  }

  // Cosine and sine of a phase in units of 2**-32 turn, as float32.
  function wave(turn) {
    const quadrant = ((turn + 0x20000000) >>> 30) & 3;
    const rest = (turn - quadrant * 0x40000000) | 0;
    const size = Math.abs(rest);
    const tail = size & 0x3ffff;
    const unit = 2 ** -29;
    const tHead = (size - tail) * unit;
    const tTail = tail * unit;
    const t = f(size) * unit;
    const y = f(t * t);
    const cosine = f(f(horner(COSINE, y) * y) + 1);
    const linear = f(f(tHead * REST) + f(tTail * WHOLE));
    const small = f(linear + f(f(t * y) * horner(SINE, y)));
    let sine = f(f(tHead * HEAD) + small);
    if (rest < 0) sine = -sine;
    const odd = quadrant & 1;
    const cos = odd ? sine : cosine;
    const sin = odd ? cosine : sine;
    return [(quadrant + 1) & 2 ? -cos : cos, quadrant & 2 ? -sin : sin];
  }

  // Features of whole points, [cos | sin] for each.
  function encode(turns, n, k) {
    const z = new Float32Array(n * 2 * k);
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < k; j++) {
        const [cos, sin] = wave(turns[i * k + j]);
        z[i * 2 * k + j] = cos;
        z[i * 2 * k + k + j] = sin;
      }
    }
    return z;
  }

  // The paper's Reverse: arctangents, then the pseudoinverse of the frequencies.
  function decode(z, n, rows) {
    const k = rows.length;
    let aa = 0, ab = 0, bb = 0;
    for (const { values: [a, b] } of rows) {
      aa += a * a;
      ab += a * b;
      bb += b * b;
    }
    const determinant = aa * bb - ab * ab;
    const points = [];
    for (let i = 0; i < n; i++) {
      let u = 0, v = 0;
      for (let j = 0; j < k; j++) {
        const phase = Math.atan2(z[i * 2 * k + k + j], z[i * 2 * k + j]) / (2 * Math.PI);
        u += rows[j].values[0] * phase;
        v += rows[j].values[1] * phase;
      }
      points.push([(bb * u - ab * v) / determinant, (aa * v - ab * u) / determinant]);
    }
    return points;
  }

  // Which phases of the points wrap, and what no point of that size can do.
  function regime(points, rows) {
    const sizes = rows.map(({ values: [a, b] }) => Math.abs(a) + Math.abs(b));
    let wrapped = 0;
    for (const [x, y] of points) {
      for (const { values: [a, b] } of rows) if (Math.abs(a * x + b * y) >= 0.5) wrapped++;
    }
    return {
      bound: (0.5 / Math.max(...sizes)) * (1 - 2 ** -40),
      fractionWrapped: wrapped / (points.length * rows.length),
      kind: wrapped ? "hash" : "manifold",
    };
  }

  // Everything of one map at once, from points prepared by integerPoints.
  function roundTrip(points, integers, D, sigma) {
    const rows = frequencies(D, sigma);
    const turns = phases(integers, rows);
    const z = encode(turns, points.length, rows.length);
    const decoded = decode(z, points.length, rows);
    let sum = 0;
    points.forEach((x, i) => {
      sum += (x[0] - decoded[i][0]) ** 2 + (x[1] - decoded[i][1]) ** 2;
    });
    return { turns, z, decoded, mse: sum / (2 * points.length), ...regime(points, rows) };
  }

  // Phases of any frequencies in float64: not bit for bit the library's, but to 1e-12 turn.
  function floatPhases(points, rows) {
    const turns = new Uint32Array(points.length * rows.length);
    let at = 0;
    for (const [x, y] of points) {
      for (const { values: [a, b] } of rows) {
        const phase = a * x + b * y;
        turns[at++] = Math.round((phase - Math.floor(phase)) * 2 ** 32) % 2 ** 32;
      }
    }
    return turns;
  }

  return { decode, encode, floatPhases, frequencies, integerPoints, phases, regime, roundTrip };
})();
