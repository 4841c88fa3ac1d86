import { setTimeout } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { describe, expect, onTestFinished, test } from 'vitest'
import { encodeBlocks } from '../../../src/log/blocks/encode-blocks.ts'
import { insertBlocks } from '../../../src/log/drain/store.ts'
import { queryRows } from '../../../src/platform/db/client.ts'
import { CARD, logged } from '../../support/archive/archived-log.ts'
import { printFigures, readFigures, resultsInRollups } from '../../support/expect/reconciliation.ts'
import { BEST_OF_FOUR } from '../../support/expect/tries.ts'
import { LoadedService } from '../../support/load/loaded-service.ts'
import { loggedFacts, loggedIds } from '../../support/score-log/log-rows.ts'
import { TcpProxy } from '../../support/servers/tcp-proxy.ts'
import { hasPostgres, newDataDir, postgres } from '../../support/start/databases.ts'
import { openTestDatabase, withDatabase } from '../../support/start/seeded-database.ts'

/** The server ends a transaction that stands still after 2 s; without that it took 8 s. */
const WAIT_MS_MAX = 7_500

describe.skipIf(!hasPostgres)('two replicas over one PostgreSQL', BEST_OF_FOUR, () => {
  // Not only the drain adds to a tree: the connections of requests may stand still for longer.
  test('a transaction that stands still with a tree loses it, whatever it is for', async () => {
    const database = await postgres.create()
    const [frozen, other] = [await openTestDatabase(database), await openTestDatabase(database)]
    onTestFinished(async () => {
      await frozen.close()
      await other.close()
      await database.drop()
    })
    const models = { compiled: async () => new Map([['mod_1', CARD.model]]) }
    const blocks = await encodeBlocks([logged(0).payload], models)
    const held = Promise.withResolvers<void>()
    const isOver = Promise.withResolvers<void>()
    onTestFinished(() => isOver.resolve())
    const lost = frozen.db.transaction(async (tx) => {
      await insertBlocks(tx, blocks)
      held.resolve()
      await isOver.promise
    })
    const isLost = expect(lost).rejects.toThrow()
    await held.promise
    const startedMs = performance.now()
    await other.db.transaction((tx) => insertBlocks(tx, blocks))
    expect(performance.now() - startedMs).toBeLessThan(WAIT_MS_MAX)
    isOver.resolve()
    await isLost
    expect(await loggedIds(other.db)).toHaveLength(1)
  })

  // A machine that swaps, or is being moved, must not stop the log of the others.
  test('go on when one is frozen amid its drain, which then drains again, once', async () => {
    const database = await postgres.create()
    onTestFinished(() => database.drop())
    const url = new URL(database.databaseUrl ?? '')
    const proxy = await TcpProxy.start(Number(url.port))
    onTestFinished(() => proxy.close())
    url.port = String(proxy.port)
    const frozen = new LoadedService({ ...database, databaseUrl: url.href })
    const other = new LoadedService({ ...database, dataDir: newDataDir() })
    onTestFinished(async () => {
      for (const { process } of [frozen, other]) {
        process?.child.kill('SIGCONT')
        await process?.stop('SIGKILL')
      }
    })
    await frozen.start()
    await other.startBeside(frozen)
    await frozen.startLoad(5)
    await other.startLoad(5)

    await proxy.holdNext('commit\0')
    frozen.process?.child.kill('SIGSTOP')
    const frozenAtMs = performance.now()
    const [tree] = await withDatabase(database, (db) =>
      queryRows(db, sql`select 1 from log_trees for update skip locked`),
    )
    expect(tree).toBe(undefined)
    const before = new Set(other.load.answered.keys())
    await other.load.heard(20)
    const later = [...other.load.answered.keys()].filter((id) => !before.has(id))
    const waitedMs = await withDatabase(database, async (db) => {
      for (;;) {
        const logged = new Set(await loggedIds(db))
        if (later.some((id) => logged.has(id))) return performance.now() - frozenAtMs
        await setTimeout(20)
      }
    })
    expect(waitedMs).toBeLessThan(WAIT_MS_MAX)
    frozen.process?.child.kill('SIGCONT')
    await frozen.load.heard(20)

    await Promise.all([frozen.load.end(), other.load.end()])
    for (const service of [frozen, other]) await service.endAndDrain()
    const answered = new Map([...frozen.load.answered, ...other.load.answered])
    await withDatabase(database, async (db) => {
      const figures = readFigures(answered, await loggedFacts(db))
      printFigures({ ...figures, waitedMs: Math.round(waitedMs) })
      expect(figures).toMatchObject({ lost: 0, twice: 0, logged: answered.size })
      expect(await resultsInRollups(db)).toBe(figures.loggedResults)
    })
  })
})
