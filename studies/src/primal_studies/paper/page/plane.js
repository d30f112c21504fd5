"use strict";
// What the page does with a DynamicPrime of two inputs beside encoding: the paper's inverse, and
// whether phases wrap. In plain float64.
const plane = (() => {
  // Frequencies as pairs.
  const pairs = (map) => Array.from({ length: map.k }, (_, i) => [...map.frequencies.subarray(2 * i, 2 * i + 2)]);

  // The paper's Reverse: arctangents, then the pseudoinverse of the frequencies.
  function decode(map, z) {
    const { k } = map, rows = pairs(map);
    let aa = 0, ab = 0, bb = 0;
    for (const [a, b] of rows) {
      aa += a * a;
      ab += a * b;
      bb += b * b;
    }
    const determinant = aa * bb - ab * ab;
    const points = [];
    for (let at = 0; at < z.length; at += 2 * k) {
      let u = 0, v = 0;
      rows.forEach(([a, b], j) => {
        const phase = Math.atan2(z[at + k + j], z[at + j]) / (2 * Math.PI);
        u += a * phase;
        v += b * phase;
      });
      points.push([(bb * u - ab * v) / determinant, (aa * v - ab * u) / determinant]);
    }
    return points;
  }

  // Which phases of the points wrap, and what no point of that size can do.
  function regime(map, points) {
    const rows = pairs(map);
    let wrapped = 0;
    for (const [x, y] of points) {
      for (const [a, b] of rows) if (Math.abs(a * x + b * y) >= 0.5) wrapped++;
    }
    return {
      bound: (0.5 / Math.max(...rows.map(([a, b]) => Math.abs(a) + Math.abs(b)))) * (1 - 2 ** -40),
      fractionWrapped: wrapped / (points.length * rows.length),
      kind: wrapped ? "hash" : "manifold",
    };
  }

  return { decode, pairs, regime };
})();
