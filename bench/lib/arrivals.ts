import type { Arrivals } from './open-loop.ts'

/**
 * Gives the times from each request to the next, without end.
 *
 * @param rate requests a second, on average
 * @param random 0..1, evenly distributed
 */
export function* waitsMs(
  rate: number,
  arrivals: Arrivals,
  random: () => number = Math.random,
): Generator<number, never> {
  const meanMs = 1_000 / rate
  for (;;) yield arrivals === 'constant' ? meanMs : -Math.log(1 - random()) * meanMs
}
