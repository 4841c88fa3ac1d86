/** Milliseconds from an arbitrary start, which is the same for all threads of the process. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
