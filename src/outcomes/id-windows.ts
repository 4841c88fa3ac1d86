import { timeOfId } from '../platform/ids.ts'

/** A time range of the log with the requests that can be in it. */
interface IdWindow {
  readonly fromMs: number
  readonly toMs: number
  readonly requestIds: ReadonlySet<string>
}

/** How far a request's time may lie from the time in its id. */
const ID_BEFORE_MS = 120_000
const ID_AFTER_MS = 600_000
/** Each window costs some statements; beyond so many the nearest ones become one. */
const WINDOWS_MAX = 100

/**
 * The time ranges in which requests can be, from the oldest to the newest. Ranges that overlap are
 * one, so that two requests of one year don't cost the log of that year.
 */
export function windowsOfIds(requestIds: readonly string[]): IdWindow[] {
  const timed = requestIds.flatMap((id) => {
    const atMs = timeOfId(id)
    return atMs === null ? [] : [{ id, atMs }]
  })
  timed.sort((a, b) => a.atMs - b.atMs)
  const isFirst = new Set(
    timed
      .map(({ atMs }, index) => ({ index, gapMs: atMs - (timed[index - 1]?.atMs ?? atMs) }))
      .filter(({ gapMs }) => gapMs > ID_BEFORE_MS + ID_AFTER_MS)
      .sort((a, b) => b.gapMs - a.gapMs)
      .slice(0, WINDOWS_MAX - 1)
      .map(({ index }) => index),
  )
  const windows: { fromMs: number; toMs: number; requestIds: Set<string> }[] = []
  for (const [index, { id, atMs }] of timed.entries()) {
    const toMs = atMs + ID_AFTER_MS
    const last = windows.at(-1)
    if (last === undefined || isFirst.has(index)) {
      windows.push({ fromMs: atMs - ID_BEFORE_MS, toMs, requestIds: new Set([id]) })
    } else {
      last.toMs = toMs
      last.requestIds.add(id)
    }
  }
  return windows
}
