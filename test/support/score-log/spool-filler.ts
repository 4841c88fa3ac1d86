/**
 * A process that logs requests until writing fails, and then until it works again, and says on its
 * standard output both times what was answered and what was refused. With `drains` as its third
 * argument it drains the spool when writing has failed, and waits until the spool refuses nothing
 * before it goes on.
 */
import { setTimeout } from 'node:timers/promises'
import { drain, log, openSpool } from './spools.ts'

/** More than fit into one write below the limit. */
const REQUESTS_OF_A_TURN = 100
/** Longer than the test: only a full disk can end the keeping of drained segments. */
const KEEP_MS = 900_000
const RETRY_MS = 100
/** Below the limit too. */
const TURNS_AFTER_DRAIN = 4

export interface FillerReport {
  readonly answered: string[]
  readonly refused: string[]
  /** What the spool said of itself: after the write that failed, and last. */
  readonly refusals: (string | null)[]
}

const [directory = '', durability = 'process', mode = ''] = process.argv.slice(2)
const spool = await openSpool(directory, {
  durability: durability === 'disk' ? 'disk' : 'process',
  keepMs: KEEP_MS,
})
const report: FillerReport = { answered: [], refused: [], refusals: [] }
let turn = 0

async function playTurn(): Promise<boolean> {
  turn++
  const ids = Array.from({ length: REQUESTS_OF_A_TURN }, (_, index) => `req_${turn}_${index}`)
  const outcomes = await Promise.allSettled(ids.map(async (id) => log(spool, id)))
  for (const [index, { status }] of outcomes.entries()) {
    const list = status === 'fulfilled' ? report.answered : report.refused
    list.push(ids[index] ?? '')
  }
  return outcomes.every(({ status }) => status === 'fulfilled')
}

while (await playTurn());
report.refusals.push(spool.refusal)
process.stdout.write(`${JSON.stringify(report)}\n`)
if (mode === 'drains') {
  await drain(spool)
  while (spool.refusal !== null) await setTimeout(RETRY_MS)
  for (let more = 0; more < TURNS_AFTER_DRAIN; more++) {
    if (!(await playTurn())) break
    await drain(spool)
  }
  report.refusals.push(spool.refusal)
} else while (!(await playTurn())) await setTimeout(RETRY_MS)
// The pipe is smaller than the report.
await new Promise((resolve) => process.stdout.write(`${JSON.stringify(report)}\n`, resolve))
// Gone without closing, as if killed.
process.kill(process.pid, 'SIGKILL')
