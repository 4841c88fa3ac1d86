import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { describe, expect, onTestFinished, test } from 'vitest'
import { indexSum } from '../../../../src/log/blocks/index-sums.ts'
import { BlockTables } from '../../../../src/log/blocks/upkeep/block-tables.ts'
import { ErasedPlaces } from '../../../../src/log/erasure/eraser.ts'
import { TreeStore } from '../../../../src/log/proof/tree-store.ts'
import { COLUMNS } from '../../../../src/log/reading/export/columns.ts'
import {
  DrainedScores,
  readFeedPosition,
} from '../../../../src/log/reading/export/drained-scores.ts'
import { LogTables } from '../../../../src/log/retention/partitions.ts'
import {
  ArchivedLog,
  batch,
  DAY,
  DAY_MS,
  type Logged,
  logged,
  makeDay,
  store,
} from '../../../support/archive/archived-log.ts'
import { backends } from '../../../support/start/databases.ts'

const HOUR_MS = 3_600_000
const REFERENCE = COLUMNS.findIndex(({ name }) => name === 'reference')
const FIRST_FILE = 'dt=2026-10-05/part-00000-g1.parquet'

/** Applicants of `team_1` on a day. */
const OF_DAY = 54

/** Records of two teams and two hours of a day, batches among them, in no order of time. */
function readRecords(dayMs: number): Logged[] {
  return Array.from({ length: 60 }, (_, n) => {
    const at = dayMs + ((n * 7) % 60) * 1_000 + (n < 30 ? HOUR_MS : 0)
    if (n % 10 === 4) return batch(at, ['A-1', null, `B-${n}`])
    const reference = n % 5 === 0 ? 'A-1' : `R-${n}`
    return logged(at, { reference, teamId: n % 3 === 1 ? 'team_2' : 'team_1' })
  })
}

describe.each(backends)('on $name', (backend) => {
  async function openLog(): Promise<ArchivedLog> {
    const log = await ArchivedLog.forTest(backend)
    for (const day of [0, 1]) await makeDay(log.handle, DAY + day * DAY_MS)
    return log
  }

  /** A log of two days, whose second was drained before the first. */
  async function filledLog(): Promise<ArchivedLog> {
    const log = await openLog()
    await store(log.handle, readRecords(DAY_MS))
    await store(log.handle, readRecords(0))
    return log
  }

  let charsMax: number | undefined
  const page = (log: ArchivedLog, after: string, limit: number, teamId = 'team_1') =>
    log.reading(({ blocks, cells: models }) => {
      const trees = new TreeStore(log.handle.db)
      const bound = charsMax !== undefined && { charsMax }
      const drained = new DrainedScores({ blocks, trees, models, clock: log.clock, ...bound })
      return drained.read({ teamId, after: readFeedPosition(after), limit, deploymentId: null })
    })

  /** All scores of a team in pages, each by its request and index, and where the pages ended. */
  async function pages(log: ArchivedLog, limit: number, teamId?: string) {
    const [scores, references, ends]: [string[], string[], string[]] = [[], [], []]
    let expired = 0
    for (let after = '0'; ; ) {
      const { rows, next, ...counts } = await page(log, after, limit, teamId)
      if (next === null) return { scores, references, ends, expired }
      expect(rows).toHaveLength(counts.scores)
      expect(counts.scores).toBeLessThanOrEqual(limit)
      expired += counts.expired
      for (const row of rows) {
        scores.push(`${row[0]} ${row[1]}`)
        references.push(row[REFERENCE] ?? '')
      }
      after = next
      ends.push(next)
    }
  }

  // A warehouse that pulls in the evening must see what one sees that pulled at once.
  test('the order of scores, and each position in it, stays through merges, erasures and the archive', async () => {
    const log = await filledLog()
    const whole = await pages(log, 10_000)
    expect(whole.scores).toHaveLength(2 * OF_DAY)
    expect(new Set(whole.scores).size).toBe(2 * OF_DAY)
    expect((await pages(log, 10_000, 'team_2')).scores).toHaveLength(36)
    const pulled = await pages(log, 7)
    expect(pulled.scores).toEqual(whole.scores)
    expect((await pages(log, 1)).scores).toEqual(whole.scores)

    await log.reading(async ({ cells }) => {
      const tables = new BlockTables(log.handle.db, cells)
      const evening = DAY + DAY_MS + 3 * HOUR_MS
      while ((await tables.rollUp()) > 0);
      expect(await tables.merge(evening)).toBeGreaterThan(1)
      while ((await tables.merge(evening)) > 0);
    })
    expect(await pages(log, 7)).toEqual(pulled)

    await log.reading(({ eraser }) =>
      eraser.erase({ teamId: 'team_1', reference: 'A-1', untilMs: Date.now() }, new ErasedPlaces()),
    )
    const references = pulled.references.map((one) => (one === '"A-1"' ? 'null' : one))
    expect(references).not.toEqual(pulled.references)
    expect(await pages(log, 7)).toEqual({ ...pulled, references })

    expect(await log.round()).toBe(true)
    expect(await pages(log, 7)).toEqual({ ...pulled, references })
  })

  // Two replicas commit in another order than they begin: a position must not run past one of them.
  test('a reader that follows several writers gets each score once, in one order', async () => {
    const log = await openLog()
    const written = [0, 1, 2, 3].map((writer) =>
      Array.from({ length: 60 }, (_, n) => logged(HOUR_MS + 4_000 * n + writer)),
    )
    let isWriting = true
    const writing = Promise.all(written.map((records) => store(log.handle, records))).finally(
      () => {
        isWriting = false
      },
    )
    const seen: string[] = []
    for (let after = '0', isLast = false; ; ) {
      const { rows, next } = await page(log, after, 13)
      for (const row of rows) seen.push(`${row[0]} ${row[1]}`)
      after = next ?? after
      if (next === null && isLast) break
      isLast = !isWriting
    }
    await writing
    expect(seen.toSorted()).toEqual(
      written.flatMap((records) => records.map(({ requestId }) => `"${requestId}" 0`)).toSorted(),
    )
    expect((await pages(log, 100)).scores).toEqual(seen)
  })

  // Ten thousand rows of cards of a thousand features are more than the memory of a process.
  test('a page ends where its rows become large, and the next one goes on there', async () => {
    const log = await filledLog()
    const whole = await pages(log, 1_000)
    charsMax = 1
    onTestFinished(() => {
      charsMax = undefined
    })
    const small = await pages(log, 1_000)
    expect(small.scores).toEqual(whole.scores)
    expect(small.ends.length).toBeGreaterThan(whole.scores.length / 2)
  })

  test('scores whose day has left the log are counted, and the others follow', async () => {
    const log = await filledLog()
    const { scores } = await pages(log, 1_000)
    await log.handle.db.execute(
      sql`update score_blocks set drained_at = drained_at - interval '2 days'`,
    )
    await new LogTables(log.handle.db).dropBefore(DAY + DAY_MS)
    const left = await pages(log, 9)
    expect({ scores: left.scores, expired: left.expired }).toEqual({
      scores: scores.slice(0, OF_DAY),
      expired: OF_DAY,
    })
  })

  // A score that a warehouse never got is not in any report, and nobody would miss it.
  test.each<{
    readonly what: string
    readonly damage: (log: ArchivedLog) => unknown
    readonly says: RegExp
  }>([
    {
      what: 'the data of a block are damaged',
      damage: ({ handle }) =>
        handle.db.execute(sql`update score_blocks
          set data = set_byte(data, 40, 255 - get_byte(data, 40)) where first_at < '2026-10-06'`),
      says: /^block \d+ of 2026-10-05 in score_blocks is damaged/,
    },
    {
      what: 'the sources of a block are damaged',
      damage: ({ handle }) =>
        handle.db.execute(sql`update score_blocks
          set sources = set_byte(sources, 2, 255 - get_byte(sources, 2))
          where first_at < '2026-10-06'`),
      says: /^the sources of block \d+ of 2026-10-05 in score_blocks are damaged/,
    },
    {
      what: 'the row of a block is gone',
      damage: ({ handle }) =>
        handle.db.execute(sql`delete from score_blocks
          where first_at < '2026-10-05T00:30:00Z'`),
      says: /^the score log lacks scores, or has others: \d+ were drained as block \d+ of the tree/,
    },
    {
      what: 'the records of a block are there twice',
      damage: async ({ handle }) => {
        await handle.db.execute(sql`insert into score_blocks
          select (jsonb_populate_record(one, '{"block_id": 7}')).* from score_blocks one
          where first_at < '2026-10-06' order by first_at desc limit 1`)
        await handle.db.execute(sql`update score_blocks set index_sum = ${indexSum()}
          where block_id = 7`)
      },
      says: /^the score log lacks scores, or has others: /,
    },
    {
      what: 'a leaf of the tree is gone',
      damage: ({ handle }) =>
        handle.db.execute(sql`delete from log_tree_nodes where level = 0 and position = 9`),
      says: /^the tree of proofs of team_1 .* is damaged/,
    },
    {
      what: 'the size of the tree is damaged',
      damage: ({ handle }) => handle.db.execute(sql`update log_trees set size = size - 1`),
      says: /^the tree of proofs of team_1 .* is damaged/,
    },
    {
      what: 'the time of a leaf is damaged, whose block is gone',
      damage: async ({ handle }) => {
        await handle.db.execute(
          sql`delete from score_blocks where first_at < '2026-10-05T00:30:00Z'`,
        )
        await handle.db.execute(sql`update log_tree_nodes set first_at = '2030-01-01'
          where level = 0`)
      },
      says: /^the score log lacks scores, or has others: /,
    },
    {
      what: 'a file of the archive is gone',
      damage: async (log) => {
        expect(await log.round()).toBe(true)
        rmSync(join(log.directory, FIRST_FILE))
      },
      says: /^a file of the archive of the score log is missing: it holds block \d+ of 2026-10-05/,
    },
  ])('where $what, nothing is left out', async ({ damage, says }) => {
    const log = await filledLog()
    await damage(log)
    const reading = pages(log, 5)
    await expect(reading).rejects.toMatchObject({ code: 'unavailable' })
    await expect(reading).rejects.toThrow(says)
  })

  // After a failover that lost commits, the same index names another block.
  test('a position of a log that was set back since is refused', async () => {
    const log = await filledLog()
    const { ends } = await pages(log, 1_000)
    const last = ends.at(-1) ?? ''
    expect(await page(log, last, 5)).toEqual({ rows: [], next: null, scores: 0, expired: 0 })
    const [sequence, applicants, root] = last.split('-')
    for (const other of [
      `${Number(sequence) + 1}-1-${root}`,
      `${sequence}-${applicants}-00000000`,
      `${sequence}-${Number(applicants) + 1}-${root}`,
      `${sequence}-0-${root}`,
      `${sequence}`,
      '',
    ]) {
      const refused = page(log, other, 5).catch(({ code, message }) => ({ code, message }))
      expect(await refused).toMatchObject({
        code: 'invalid_request',
        message: expect.stringContaining('no position like `after`'),
      })
    }
    await expect(page(log, last, 5, 'team_2')).rejects.toMatchObject({ code: 'invalid_request' })
  })
})
