import { setTimeout } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ScoreLogStore } from '../../../src/log/drain/store.ts'
import type { ModelSource } from '../../../src/log/record/model-source.ts'
import { readRecordV4 } from '../../../src/log/record/record-v4.ts'
import { type Database, queryRows } from '../../../src/platform/db/client.ts'
import { sampleApplicants, sampleSpec } from '../../support/cards/cards.ts'
import { printFigures, readFigures, resultsInRollups } from '../../support/expect/reconciliation.ts'
import { loggedFacts } from '../../support/score-log/log-rows.ts'
import { recordPayload, testModel } from '../../support/score-log/record-payloads.ts'
import { backends, type TestDatabase } from '../../support/start/databases.ts'
import { ServiceProcess } from '../../support/start/process.ts'
import { withDatabase } from '../../support/start/seeded-database.ts'

const MERGER = 'test/support/score-log/merger.ts'
const HOUR_MS = 3_600_000
/** The hours before the present one, within the last two days. */
const HOURS = 30
const START = (Math.floor(Date.now() / HOUR_MS) - HOURS - 1) * HOUR_MS
const BLOCKS_AN_HOUR = 8
const RECORDS_A_BLOCK = 12
const KILLS = Math.max(6, Number(process.env['SCORELINE_TEST_KILLS'] ?? 0))
const CARD = testModel(sampleSpec(), 'mod_1')
const SOURCE: ModelSource = { compiled: async () => new Map([['mod_1', CARD.model]]) }
const APPLICANTS = sampleApplicants().map(({ applicant }) => applicant)

type Place = Pick<TestDatabase, 'databaseUrl' | 'dataDir'>

/** Stores small blocks in each hour, and the model that a merge needs. */
function fill(database: Place): Promise<Map<string, number>> {
  return withDatabase(database, async (db) => {
    await db.execute(
      sql`insert into teams (id, name, created_at) values ('team_1', 'a team', now())`,
    )
    await db.execute(sql`insert into models (id, team_id, name, version, spec_version, environment,
        status, spec, deployed_by, created_at, updated_at)
      values ('mod_1', 'team_1', 'a card', '1', '1', 'production', 'active',
        ${JSON.stringify(sampleSpec())}::text::json, 'user_1', now(), now())`)
    const store = new ScoreLogStore(db, SOURCE)
    const stored = new Map<string, number>()
    for (let block = 0; block < HOURS * BLOCKS_AN_HOUR; block++) {
      const records = Array.from({ length: RECORDS_A_BLOCK }, (_, place) => {
        const applicant = APPLICANTS[(block + place) % APPLICANTS.length] ?? {}
        const rows = [{ id: null, results: [CARD.makeResult(applicant)] }]
        const scoredAtMs = START + (block % HOURS) * HOUR_MS + 1_000 * block + place
        return readRecordV4(recordPayload({ models: [CARD], rows, scoredAtMs }))
      })
      await store.append(records)
      for (const { requestId } of records) stored.set(requestId, 1)
    }
    return stored
  })
}

/** Starts a merger and waits until it has said one of these. */
async function startMerger(database: Place, said: RegExp): Promise<ServiceProcess> {
  const place = JSON.stringify({ databaseUrl: database.databaseUrl, dataDir: database.dataDir })
  const merger = ServiceProcess.start({}, MERGER, [place])
  onTestFinished(() => void merger.stop('SIGKILL'))
  await merger.printed(said)
  return merger
}

describe.each(backends)('on $name', (backend) => {
  // A merge writes the same requests again: half of one would lose them, or show them twice.
  test(`each request is in the log once after ${KILLS} kills amid merges`, async () => {
    const database = await backend.create()
    onTestFinished(() => database.drop())
    const stored = await fill(database)
    const blocksLeft: number[] = []
    for (let killed = 0; killed < KILLS; killed++) {
      const merger = await startMerger(database, killed === 0 ? /opened/ : /worked/)
      // Each time at another moment of its work.
      await setTimeout((killed * 7) % 20)
      await merger.stop('SIGKILL')
      await withDatabase(database, async (db) => {
        const figures = readFigures(stored, await loggedFacts(db))
        expect(figures).toMatchObject({ lost: 0, twice: 0, logged: stored.size })
        expect(await resultsInRollups(db)).toBe(stored.size)
        blocksLeft.push(await blocksIn(db))
      })
    }
    // At least one kill was amid the merges, not before and not after them.
    const isAmid = (blocks: number) => blocks > HOURS && blocks < HOURS * BLOCKS_AN_HOUR
    expect(blocksLeft.filter(isAmid).length).toBeGreaterThan(0)
    await (await startMerger(database, /idle/)).stop('SIGKILL')
    await withDatabase(database, async (db) => {
      const figures = readFigures(stored, await loggedFacts(db))
      printFigures({ ...figures, kills: KILLS })
      expect(figures).toMatchObject({ lost: 0, twice: 0, logged: stored.size })
      expect(await resultsInRollups(db)).toBe(stored.size)
      expect(await blocksIn(db)).toBe(HOURS)
    })
  }, 600_000)
})

async function blocksIn(db: Database): Promise<number> {
  return (await queryRows(db, sql`select 1 from score_blocks where superseded_at is null`)).length
}
