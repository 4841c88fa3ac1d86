/**
 * Makes a source of numbers in [0, 1) that gives the same ones in every run, so that two people who
 * start the demo see the same drift.
 *
 * @param seed a whole number
 * @source the generator mulberry32, which its author has put into the public domain
 */
export function randomSource(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
