/** Scores that wait for the database, by their place in the spool. */
import { randomBytes } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { WaitingScores } from '../../../src/log/reading/spool-tail.ts'
import type { Spool } from '../../../src/log/spool/spool.ts'
import { card, plainFeature } from '../../support/cards/cards.ts'
import { loggedModel, logRequest } from '../../support/score-log/score-records.ts'
import { drain, killedCopy, newSpoolDir, openSpool } from '../../support/score-log/spools.ts'

const MODELS = [loggedModel(card([plainFeature('income')]), 'champion')]

async function open(path: string): Promise<Spool> {
  const spool = await openSpool(path)
  onTestFinished(() => spool.close())
  return spool
}

async function openNew(): Promise<{ spool: Spool; path: string }> {
  const { path, remove } = newSpoolDir()
  onTestFinished(remove)
  return { spool: await open(path), path }
}

/** Logs a score with a key. @returns its hash */
async function logKeyed(spool: Spool, requestId: string): Promise<string> {
  const key = { keyHash: randomBytes(16), bodyHash: randomBytes(8) }
  await logRequest(spool, MODELS, [{ income: 1 }], { requestId, key })
  return key.keyHash.toString('hex')
}

async function readKeys(waiting: WaitingScores): Promise<string[]> {
  const keys: string[] = []
  for await (const hash of waiting.readKeys()) keys.push(Buffer.from(hash).toString('hex'))
  return keys
}

test('what waited at a mark is drained once all of it is, whatever came after', async () => {
  const { spool } = await openNew()
  const waiting = new WaitingScores(spool)
  expect(waiting.isDrainedTo(waiting.mark())).toBe(true)
  for (const id of ['req_1', 'req_2', 'req_3']) await logKeyed(spool, id)
  const mark = waiting.mark()
  await logKeyed(spool, 'req_4')
  for (const isDrained of [false, false, true]) {
    const batch = await spool.readBatch(1, 1_000_000)
    await spool.acknowledge(batch.token)
    expect(waiting.isDrainedTo(mark)).toBe(isDrained)
  }
  expect(waiting.isDrainedTo(waiting.mark())).toBe(false)
  await drain(spool)
  expect(waiting.isDrainedTo(waiting.mark())).toBe(true)
})

// Each key that is missed would be executed a second time.
test('each key that a killed process has left is read, and none of what is drained', async () => {
  const { spool, path } = await openNew()
  await logKeyed(spool, 'req_drained')
  await drain(spool)
  const keys: string[] = []
  for (let n = 0; n < 6_000; n++) {
    keys.push(await logKeyed(spool, `req_${n}`))
    if (n % 10 === 0) await logRequest(spool, MODELS, [{ income: 1 }], { requestId: `req_x${n}` })
  }
  const after = await open(killedCopy(path))
  expect((await readKeys(new WaitingScores(after))).sort()).toEqual(keys.sort())
})
