import { sql } from 'drizzle-orm'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openBlock } from '../../../src/log/blocks/block-decoder.ts'
import { BlockReader } from '../../../src/log/blocks/block-store.ts'
import { BlockTables } from '../../../src/log/blocks/upkeep/block-tables.ts'
import { ScoreLogStore } from '../../../src/log/drain/store.ts'
import type { ModelSource } from '../../../src/log/record/model-source.ts'
import { readRecordV4 } from '../../../src/log/record/record-v4.ts'
import type { Database } from '../../../src/platform/db/client.ts'
import { newId } from '../../../src/platform/ids.ts'
import { sampleApplicants, sampleSpec } from '../../support/cards/cards.ts'
import { recordPayload, testModel } from '../../support/score-log/record-payloads.ts'
import { backends } from '../../support/start/databases.ts'
import { openTestDatabase } from '../../support/start/seeded-database.ts'

const HOUR_MS = 3_600_000
/** In an hour that is over. */
const START = (Math.floor(Date.now() / HOUR_MS) - 3) * HOUR_MS + 600_000
const CARD = testModel(sampleSpec(), 'mod_1')
const SOURCE: ModelSource = { compiled: async () => new Map([['mod_1', CARD.model]]) }
const [SAMPLE] = sampleApplicants()
const ROWS = [{ id: null, results: [CARD.makeResult(SAMPLE?.applicant ?? {})] }]

const logged = (scoredAtMs: number, requestId = newId('req_', scoredAtMs)) =>
  readRecordV4(recordPayload({ models: [CARD], rows: ROWS, scoredAtMs, requestId }))

/** A database that does something after its first statement. */
function interrupted(db: Database, meanwhile: () => Promise<unknown>): Database {
  let statements = 0
  return new Proxy(db, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      if (name !== 'execute' || typeof member !== 'function') return member
      return async (...args: unknown[]) => {
        const result: unknown = await member.apply(target, args)
        if (++statements === 1) await meanwhile()
        return result
      }
    },
  })
}

describe.each(backends)('on $name', (backend) => {
  async function open(): Promise<Database> {
    const database = await backend.create()
    const { db, close } = await openTestDatabase(database)
    onTestFinished(async () => {
      await close()
      await database.drop()
    })
    return db
  }

  // The request is answered eight seconds after its id was made; the merge puts it into a block
  // that begins before the id.
  test('a request is found while a merge moves it to a block of another time', async () => {
    const db = await open()
    const requestId = newId('req_', START)
    const store = new ScoreLogStore(db, SOURCE)
    await store.append([logged(START - 1_000)])
    await store.append([logged(START + 8_000, requestId)])
    const tables = new BlockTables(db, SOURCE)
    await tables.rollUp()
    const merged: number[] = []
    const reader = new BlockReader(
      interrupted(db, async () => merged.push(await tables.merge(Date.now()))),
    )
    const found: number[] = []
    for await (const stored of reader.blocksAt(START)) {
      found.push(openBlock(stored).find(requestId))
    }
    expect(merged).toEqual([2])
    expect(found.some((index) => index >= 0)).toBe(true)
  })

  test.each([true, false])(
    'a day that retention removes amid a scan is told where the whole is wanted (%s)',
    async (isWhole) => {
      const db = await open()
      const store = new ScoreLogStore(db, SOURCE)
      for (let block = 0; block < 6; block++) await store.append([logged(START + block)])
      const reader = new BlockReader(db)
      const range = { fromMs: START, toMs: START + HOUR_MS, order: 'oldest', isWhole } as const
      const read = async () => {
        let blocks = 0
        for await (const _ of reader.blocksIn(range)) {
          if (++blocks === 1) await db.execute(sql`delete from score_blocks`)
        }
        return blocks
      }
      if (isWhole) await expect(read()).rejects.toMatchObject({ code: 'unavailable' })
      // The first statement had read four of them.
      else expect(await read()).toBe(4)
    },
  )
})
