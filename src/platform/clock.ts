/** The time that the service sees. Tests replace it. */
export interface Clock {
  /** Wall clock, milliseconds since 1970, for times that are stored. */
  epochMs(): number
  /** Never goes back, milliseconds from an arbitrary start, for ages and durations. */
  monotonicMs(): number
}

export const systemClock: Clock = {
  epochMs: Date.now,
  monotonicMs: performance.now.bind(performance),
}
