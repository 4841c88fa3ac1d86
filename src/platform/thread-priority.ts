import { constants, platform, setPriority } from 'node:os'

/**
 * Lets threads that answer requests go before the calling one, which still gets a tenth of a core
 * that they keep busy. Only Linux has a priority for each thread; elsewhere nothing changes.
 */
export function goBehindRequests(): void {
  if (platform() !== 'linux') return
  // 0 is the calling thread. To take a lower priority needs no right.
  setPriority(0, constants.priority.PRIORITY_BELOW_NORMAL)
}
