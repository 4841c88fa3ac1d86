import { constants, getPriority, platform, setPriority } from 'node:os'

/**
 * Lets threads that answer requests go before the calling one, which still gets a tenth of a core
 * that they keep busy. Only Linux has a priority for each thread; elsewhere nothing changes.
 */
export function goBehindRequests(): void {
  if (platform() !== 'linux') return
  const behind = constants.priority.PRIORITY_BELOW_NORMAL
  try {
    // 0 is the calling thread. To take a lower priority needs no right, but a higher one does: the
    // service may have begun with a lower one.
    if (getPriority(0) < behind) setPriority(0, behind)
  } catch {
    // A container may forbid the call. The thread does its work all the same.
  }
}
