import { readFileSync } from 'node:fs'
import { findChildren } from './processor-time.ts'

const KIB_OF_MIB = 1_024

/** The most memory that a process has had so far, in MiB, as the kernel of Linux counts it. */
export function peakMiB(processId: number): number {
  const status = readFileSync(`/proc/${processId}/status`, 'utf8')
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / KIB_OF_MIB
}

/** Memory that a process and its children hold now. */
export function treeRssBytes(processId: number): number {
  return [String(processId), ...findChildren(processId)].reduce((sum, id) => sum + rssBytes(id), 0)
}

function rssBytes(processId: string): number {
  try {
    const status = readFileSync(`/proc/${processId}/status`, 'utf8')
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) * 1_024
  } catch {
    // It has ended.
    return 0
  }
}
