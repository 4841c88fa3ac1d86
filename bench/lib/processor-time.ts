import { readdirSync, readFileSync } from 'node:fs'

/** Clock ticks of the system, in which the kernel tells processor time. */
const TICK_MS = 10

/** Processor time of a process, its children and the children that have ended. */
export function processesCpuMs(processId: number): number {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return all.reduce((sum, id) => {
    const fields = statFields(`/proc/${id}/stat`)
    if (fields === null) return sum
    const [parent, ...times] = [fields[1], ...fields.slice(11, 15)].map(Number)
    if (Number(id) === processId)
      return sum + times.reduce((total, ticks) => total + ticks, 0) * TICK_MS
    return parent === processId ? sum + ((times[0] ?? 0) + (times[1] ?? 0)) * TICK_MS : sum
  }, 0)
}

/** Processor times of the threads of a process and its children by their ids, with their names. */
export function threadsCpuMs(
  processId: number,
): ReadonlyMap<string, { readonly name: string; readonly cpuMs: number }> {
  const threads = new Map<string, { name: string; cpuMs: number }>()
  for (const owner of [String(processId), ...findChildren(processId)]) {
    for (const id of namesIn(`/proc/${owner}/task`)) {
      const directory = `/proc/${owner}/task/${id}`
      const fields = statFields(`${directory}/stat`)
      if (fields === null) continue
      const ticks = Number(fields[11]) + Number(fields[12])
      const name = readFileSync(`${directory}/comm`, 'utf8').trim()
      threads.set(id, { name, cpuMs: ticks * TICK_MS })
    }
  }
  return threads
}

/** Ids of the processes that a process started and that still run. */
export function findChildren(processId: number): string[] {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return all.filter((id) => Number(statFields(`/proc/${id}/stat`)?.[1]) === processId)
}

/** Empty for a process that has ended. */
function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}

/** From the state on, which stands behind the name in brackets; null: the process has ended. */
function statFields(path: string): string[] | null {
  try {
    const stat = readFileSync(path, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return null
  }
}
