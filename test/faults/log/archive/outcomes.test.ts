import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { sql } from 'drizzle-orm'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { queryRows } from '../../../../src/platform/db/client.ts'
import { ArchivedLog, DAY_MS } from '../../../support/archive/archived-log.ts'
import { dataRoot } from '../../../support/start/data-root.ts'
import { hasPostgres, postgres } from '../../../support/start/databases.ts'
import { openTestDatabase } from '../../../support/start/seeded-database.ts'
import { TwoTeams } from '../../../support/start/team.ts'
import {
  DEFINITION,
  OutcomeHistory,
  step,
  tell,
} from '../../../support/suites/outcome-histories.ts'

const HISTORIES = 5
const AFTER_DAYS = 10

describe.skipIf(!hasPostgres)('on PostgreSQL', () => {
  // Outcomes come after a year: by then their scores have left the database, and at last the log.
  test('random histories keep their report when the log is archived, and when it has left', async () => {
    const root = mkdtempSync(join(dataRoot(), 'archive-'))
    const env = { SCORE_LOG_ARCHIVE: pathToFileURL(join(root, 'store')).href }
    const database = await postgres.create()
    const handle = await openTestDatabase(database)
    const log = new ArchivedLog(handle, root)
    const backend = { name: postgres.name, create: async () => database }
    const teams = await TwoTeams.start(backend, { env })
    onTestFinished(async () => {
      await handle.close()
      await teams.service.close()
      log.remove()
    })
    await teams.team.done('PUT', '/v1/outcome-definitions/gb3', DEFINITION)

    const histories = fc.sample(fc.array(step, { minLength: 8, maxLength: 20 }), HISTORIES)
    const played = await Promise.all(
      histories.map(async (steps) => {
        const history = await OutcomeHistory.begin(teams)
        await history.play(steps)
        return history
      }),
    )
    for (const history of played) await history.drained()
    for (const history of played) await history.expectReport()

    // The day is closed for the archive, and no spool holds more of it.
    log.nowMs = Date.now() + AFTER_DAYS * DAY_MS
    await handle.db.execute(
      sql`update spool_cursors set updated_at = now() + ${AFTER_DAYS - 1} * interval '1 day'`,
    )
    expect(await log.round()).toBe(true)
    const left = async () => {
      const [row] = await queryRows<{ blocks: number; archived: number }>(
        handle.db,
        sql`select (select count(*) from score_blocks)::integer as blocks,
          (select count(*) from score_archive_blocks)::integer as archived`,
      )
      return [row?.blocks, (row?.archived ?? 0) > 0]
    }
    expect(await left()).toEqual([0, true])
    for (const history of played) {
      await history.expectReport()
      await history.expectBacktest()
    }

    const amendments = fc.sample(fc.array(tell, { minLength: 3, maxLength: 6 }), HISTORIES)
    for (const [place, history] of played.entries()) {
      await history.play(amendments[place] ?? [])
      await history.expectReport()
    }

    await log.ageFiles()
    expect(await log.round({ retentionDays: AFTER_DAYS - 1 })).toBe(true)
    expect(await left()).toEqual([0, false])
    for (const history of played) {
      const { scorings, facts } = history
      // What is left is the scorings of which something is known.
      const known = new Set(facts.map(({ key }) => key))
      const books = { scorings: scorings.filter(({ key }) => known.has(key)), facts }
      await history.expectReport(books, { isLogGone: true })
    }
  })
})
