import { setTimeout as delay } from 'node:timers/promises'
import postgres from 'postgres'
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { BatchStore } from '../../../../src/jobs/batches/store.ts'
import { BatchCaller } from '../../../support/batches/batches.ts'
import { hasPostgres, lastBackend } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'
import { numberedSpec, Team } from '../../../support/start/team.ts'

describe.each([lastBackend])('on $name', (backend) => {
  const service = TestService.forSuite(backend)
  const team = Team.forSuite(service)
  let caller: BatchCaller
  let slug: string

  beforeAll(async () => {
    caller = new BatchCaller(service, team.key)
    slug = (await team.deploy(numberedSpec(1))).slug
  })

  const makeFile = (...ids: string[]) => `id,income\n${ids.map((id) => `${id},1\n`).join('')}`
  const erase = (reference: string) => team.done('POST', '/v1/log/erasures', { reference })
  const found = async (reference: string) =>
    (await team.done('GET', `/v1/scores?reference=${reference}`)).scores
  /** The references of a file in the log. */
  const loggedIds = async (id: string) => {
    const [result] = await caller.lines(id, 'results')
    const { records } = await team.done('GET', `/v1/scores/${result.request_id}`)
    return records.map((record: { id: unknown }) => record.id)
  }
  const score = (file: string) => caller.score(slug, file, { query: '&results=ndjson' })

  // An erasure covers two seconds more than its own time, because clocks of replicas differ.
  test('a file that is scored after an erasure does not bring the reference back', async () => {
    await erase('A-1')
    const { id } = await score(makeFile('A-1', 'A-2'))
    expect(await loggedIds(id)).toEqual([null, 'A-2'])
  })

  test('a chunk that was scored before an erasure is stored without the reference', async () => {
    const commit = BatchStore.prototype.commit
    const spy = vi.spyOn(BatchStore.prototype, 'commit')
    onTestFinished(() => spy.mockRestore())
    spy.mockImplementationOnce(async function late(this: BatchStore, ...order) {
      await erase('B-1')
      return commit.apply(this, order)
    })
    const { id } = await score(makeFile('B-1', 'B-2'))
    expect(await loggedIds(id)).toEqual([null, 'B-2'])
    expect(await found('B-1')).toEqual([])
    expect(await found('B-2')).toHaveLength(1)
  })

  test('what is erased while a chunk is encoded again is left out, too', async () => {
    const commit = BatchStore.prototype.commit
    const spy = vi.spyOn(BatchStore.prototype, 'commit')
    onTestFinished(() => spy.mockRestore())
    for (const reference of ['D-1', 'D-2']) {
      spy.mockImplementationOnce(async function late(this: BatchStore, ...order) {
        await erase(reference)
        return commit.apply(this, order)
      })
    }
    const { id } = await score(makeFile('D-1', 'D-2', 'D-3'))
    expect(await loggedIds(id)).toEqual([null, null, 'D-3'])
  })

  // The erasure would look for the reference before the chunk can be seen, and never again.
  test.skipIf(!hasPostgres)('an erasure waits for a chunk that is being committed', async () => {
    // The tree of the team is there from now on.
    await score(makeFile('C-1'))
    const { databaseUrl } = service.config
    const db = postgres(databaseUrl ?? '', { max: 2, onnotice: () => {} })
    onTestFinished(() => db.end({ timeout: 1 }))
    const waits = async (mode: string) => {
      const found = await db`select 1 from pg_locks where not granted and mode = ${mode}
        and pid in (select pid from pg_stat_activity where datname = current_database())`
      return found.length > 0
    }
    const held = await db.reserve()
    await held`begin`
    await held`select 1 from log_trees for update`
    const sent = (await caller.send(slug, makeFile('C-9'), { query: '&results=ndjson' })).json()
    // Its transaction has read the number of the newest erasure, and stands before its records.
    await until(() => waits('ShareLock'))
    let isErased = false
    const erasure = erase('C-9').finally(() => {
      isErased = true
    })
    await until(async () => isErased || (await waits('ShareRowExclusiveLock')))
    expect(isErased).toBe(false)
    await held`commit`
    held.release()
    expect(await erasure).toMatchObject({ places: 1, requests: 1 })
    const { id } = await caller.end(sent.id)
    expect(await loggedIds(id)).toEqual([null])
    expect(await found('C-9')).toEqual([])
  })
})

async function until(isSo: () => Promise<boolean>): Promise<void> {
  const endMs = performance.now() + 30_000
  while (!(await isSo())) {
    if (performance.now() > endMs) throw new Error('it did not come to that')
    await delay(10)
  }
}
