import { readFileSync } from 'node:fs'
import { WINDOW_MS } from './limiter.ts'

/** Milliseconds since 1970 by Redis' own clock, the one clock of all replicas. */
const REDIS_TIME = `(function()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end)()`

/** Nodes of a cluster may differ by this: clocks that are kept by NTP differ by far less. */
const SKEW_MS_MAX = 2_000

const COUNTING = readFileSync(new URL('./script.lua', import.meta.url), 'utf8')

/**
 * The script that counts requests of any number of subjects, atomically.
 *
 * KEYS are the subjects' logs. ARGV holds the last moment at which the call may count, and then for
 * each key its quota and the number of requests wanted. The answer holds the time; and then for
 * each key how many are admitted, how many are in the window with them, and the milliseconds until
 * there is room again, 0 if there is. A call that comes too late counts nothing and answers the
 * time alone.
 *
 * A log is a LIST of runs. A run is a millisecond in which requests were admitted, and the number
 * of all requests up to its end, in one integer of 53 bits: `counted * STAMPS + millisecond %
 * STAMPS`. The element before the first run holds what had left before it, so that the difference
 * of two elements counts all between them: nothing is summed up. A run takes 10 bytes, so a
 * saturated quota of 1,000 at most 10 KB, and no quota more than the 60,000 runs that a window can
 * hold.
 *
 * The 70 minutes of STAMPS tell a run's age, since a log expires a window after its last admission;
 * ages of more than half of it are negative ones. If the last run is at most `SKEW_MS_MAX` ahead,
 * the log came from a node whose clock is a little ahead: the time of that run counts as now until
 * this clock is there, so that nothing is counted longer than a window and that difference. If it
 * is further ahead, the clock was set back: the log is restamped as if all were admitted now, which
 * never admits too many, and forgets within a window.
 *
 * @param nowLua expression for the time, for tests that have a clock of their own
 */
export function makeCountingScript(nowLua: string = REDIS_TIME): string {
  return `
local WINDOW, STAMPS, COUNTS, SKEW = ${WINDOW_MS}, ${2 ** 22}, ${2 ** 31}, ${SKEW_MS_MAX}
local now = ${nowLua}
${COUNTING}`
}
