"use strict";
// Reading wrapped phases of two inputs: which whole turns fit all frequencies at once, for a point
// of the square |x|, |y| <= reach. A small relative of the library's lattice decoder.
const lattice = (() => {
  const MOST = 64; // survivors that are counted

  // The ends of the line w . x = c inside the square, as points; null where it misses.
  function chord(w, c, reach) {
    const n2 = w[0] * w[0] + w[1] * w[1];
    const foot = [(w[0] * c) / n2, (w[1] * c) / n2];
    const along = [-w[1], w[0]];
    let low = -Infinity, high = Infinity;
    for (const axis of [0, 1]) {
      if (Math.abs(along[axis]) < 1e-300) {
        if (Math.abs(foot[axis]) > reach) return null;
        continue;
      }
      const ends = [(-reach - foot[axis]) / along[axis], (reach - foot[axis]) / along[axis]];
      low = Math.max(low, Math.min(...ends));
      high = Math.min(high, Math.max(...ends));
    }
    if (low > high) return null;
    return [low, high].map((s) => [foot[0] + s * along[0], foot[1] + s * along[1]]);
  }

  // Take one frequency after the other into a least-squares estimate; null when one does not fit.
  function follow(rows, phases, n0, n1, noise) {
    const turns = [phases[0] + n0, phases[1] + n1];
    let aa = 0, ab = 0, bb = 0, u = 0, v = 0;
    const take = (w, turn) => {
      aa += w[0] * w[0]; ab += w[0] * w[1]; bb += w[1] * w[1];
      u += w[0] * turn; v += w[1] * turn;
    };
    take(rows[0], turns[0]);
    take(rows[1], turns[1]);
    let x = null;
    let misfit = 0;
    for (let i = 2; ; i++) {
      const det = aa * bb - ab * ab;
      x = [(bb * u - ab * v) / det, (aa * v - ab * u) / det];
      if (i >= rows.length) break;
      const [a, b] = rows[i];
      const guess = a * x[0] + b * x[1];
      let off = phases[i] - guess;
      const whole = Math.round(-off);
      off += whole;
      const spread = noise * Math.sqrt(1 + (a * a * bb - 2 * a * b * ab + b * b * aa) / det);
      if (Math.abs(off) > 5 * spread) return null;
      misfit += (off / spread) ** 2;
      take(rows[i], phases[i] + whole);
    }
    return { x, misfit };
  }

  // The best point for phases in [-1/2, 1/2), and how many fit. `noise` is in turns.
  function decodeOne(rows, phases, reach, noise) {
    const [w, other] = rows;
    const most = (Math.abs(w[0]) + Math.abs(w[1])) * reach;
    let best = null, count = 0;
    for (let n0 = Math.ceil(-most - phases[0]); n0 <= most - phases[0] && count < MOST; n0++) {
      const ends = chord(w, phases[0] + n0, reach);
      if (!ends) continue;
      const values = ends.map((x) => other[0] * x[0] + other[1] * x[1] - phases[1]);
      for (let n1 = Math.ceil(Math.min(...values)); n1 <= Math.max(...values); n1++) {
        const found = follow(rows, phases, n0, n1, noise);
        if (!found) continue;
        count++;
        if (!best || found.misfit < best.misfit) best = found;
      }
    }
    return { x: best?.x ?? [NaN, NaN], count };
  }

  // All points: positions, and how many have one, several and no answer.
  function decode(rows, turns, n, reach, noise) {
    const k = rows.length;
    const points = [], status = { one: 0, several: 0, none: 0 };
    for (let i = 0; i < n; i++) {
      const phases = Array.from({ length: k }, (_, j) => (turns[i * k + j] | 0) / 2 ** 32);
      const { x, count } = decodeOne(rows, phases, reach, noise);
      points.push(x);
      status[count === 0 ? "none" : count === 1 ? "one" : "several"]++;
    }
    return { points, status };
  }

  return { decode };
})();
