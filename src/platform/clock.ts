/** Time as the service sees it; tests put one of their own in its place. */
export interface Clock {
  /** Wall clock, milliseconds since 1970, for what is written down. */
  epochMs(): number
  /** Never goes back, milliseconds from an arbitrary start, for ages and durations. */
  monotonicMs(): number
}

export const systemClock: Clock = {
  epochMs: () => Date.now(),
  monotonicMs: () => performance.now(),
}
