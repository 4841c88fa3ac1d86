import { readFileSync } from 'node:fs'

const KIB_OF_MIB = 1_024

/** The most memory that a process has had so far, in MiB, as the kernel of Linux counts it. */
export function peakMiB(processId: number): number {
  const status = readFileSync(`/proc/${processId}/status`, 'utf8')
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / KIB_OF_MIB
}
