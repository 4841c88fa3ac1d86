/**
 * Time that this thread has computed. Time that passes on a clock depends on what else runs on the
 * machine.
 */
export function processorMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

/** How many times longer than on an idle machine work takes at the moment. */
export function findSlowness(): number {
  const [startedMs, computedMs] = [performance.now(), processorMs()]
  while (processorMs() - computedMs < 200);
  return Math.max(1, (performance.now() - startedMs) / 200)
}
