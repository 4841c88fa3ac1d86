/**
 * A process that logs requests until writing fails, and then until it works again, and says on its standard
 * output both times what was answered and what was refused.
 */
import { setTimeout } from 'node:timers/promises'
import { log, openSpool } from './spools.ts'

/** More than fit into one write below the limit. */
const REQUESTS_OF_A_TURN = 100
const RETRY_MS = 100

export interface FillerReport {
  readonly answered: string[]
  readonly refused: string[]
}

const [directory = '', durability = 'process'] = process.argv.slice(2)
const spool = await openSpool(directory, { durability: durability === 'disk' ? 'disk' : 'process' })
const report: FillerReport = { answered: [], refused: [] }
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
process.stdout.write(`${JSON.stringify(report)}\n`)
while (!(await playTurn())) await setTimeout(RETRY_MS)
process.stdout.write(`${JSON.stringify(report)}\n`)
// Gone without closing, as if killed.
process.kill(process.pid, 'SIGKILL')
