import { sql } from 'drizzle-orm'
import { describe, expect, inject, onTestFinished, test, vi } from 'vitest'
import { deploymentHash } from '../../../src/log/blocks/hashes.ts'
import { Drain } from '../../../src/log/drain/drain.ts'
import { DrainThread } from '../../../src/log/drain/drain-thread.ts'
import { ScoreLogStore } from '../../../src/log/drain/store.ts'
import { systemClock } from '../../../src/platform/clock.ts'
import { loggedIds, rollupOver } from '../../support/score-log/log-rows.ts'
import { log, newSpoolDir, openSpool } from '../../support/score-log/spools.ts'
import { backends } from '../../support/start/databases.ts'
import { openTestDatabase } from '../../support/start/seeded-database.ts'

const WAIT_MS = 60_000

describe.skipIf(inject('postgresTemplate') === null)('on PostgreSQL', () => {
  // As one that takes all memory of the server's process: no error names it, the connection is
  // gone.
  test('a record that ends the process of the server is set aside, and all others are in the log once', async () => {
    const database = await backends.find(({ name }) => name === 'PostgreSQL')?.create()
    if (database === undefined) throw new Error('no PostgreSQL server was named')
    const handle = await openTestDatabase(database)
    const directory = newSpoolDir()
    const spool = await openSpool(directory.path)
    const drainThread = new DrainThread({
      isAwaited: false,
      databaseUrl: handle.url ?? '',
      onCrash: () => undefined,
      onSilent: () => undefined,
    })
    const quarantined: string[] = []
    const drain = new Drain({
      spool,
      thread: drainThread,
      clock: systemClock,
      store: new ScoreLogStore(handle.db),
      log: {
        failing: () => undefined,
        recovered: () => undefined,
        held: () => undefined,
        quarantine: ({ requestId }) => void quarantined.push(requestId),
      },
      gatherMs: 0,
      batchRecordsMax: 50,
      batchBytesMax: 4e6,
    })
    onTestFinished(async () => {
      await drain.close(2_000)
      await drainThread.close()
      await spool.close()
      directory.remove()
      await handle.close()
      await database.drop()
    })
    await handle.db.execute(sql`create function end_process() returns trigger language plpgsql as $$
      begin
        perform pg_terminate_backend(pg_backend_pid());
        return new;
      end $$`)
    await handle.db.execute(sql`create trigger end_process before insert on score_blocks
      for each row when (new.deployments @> array[${sql.raw(String(deploymentHash('dep_poison')))}])
      execute function end_process()`)
    const sound = Array.from({ length: 120 }, (_, n) => `req_${n}`)
    const poison = ['req_poison_1', 'req_poison_2']
    await Promise.all([
      ...poison.map((id) => log(spool, id, { deploymentId: 'dep_poison' })),
      ...sound.map((id) => log(spool, id)),
    ])
    await drain.start()
    await vi.waitFor(() => expect(spool.stats.records).toBe(0), WAIT_MS)
    expect(quarantined.toSorted()).toEqual(poison)
    expect((await loggedIds(handle.db)).toSorted()).toEqual(sound.toSorted())
    const rollup = await rollupOver(handle.db, 'day', 'dep_1')
    expect(rollup).toMatchObject({ requestCount: 120, resultCount: 120 })
    await log(spool, 'req_after')
    await vi.waitFor(() => expect(spool.stats.records).toBe(0), WAIT_MS)
    expect(await loggedIds(handle.db)).toContain('req_after')
  }, 150_000)
})
