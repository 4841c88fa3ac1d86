import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readItem } from '../../../src/outcomes/item.ts'
import { PostgresOutcomeStore } from '../../../src/outcomes/store.ts'
import type { DatabaseHandle } from '../../../src/platform/db/client.ts'
import { backends, type TestDatabase } from '../../support/start/databases.ts'
import { openTestDatabase } from '../../support/start/seeded-database.ts'
import { insertTeam } from '../../support/start/users.ts'

describe.each(backends)('on $name', (backend) => {
  let database: TestDatabase
  let handle: DatabaseHandle

  beforeAll(async () => {
    database = await backend.create()
    handle = await openTestDatabase(database)
  })
  afterAll(async () => {
    await handle.close()
    await database.drop()
  })

  // A key of staging that names a score of production would else keep its outcome away for good.
  test('the same outcome is held once for each environment', async () => {
    const teamId = await insertTeam(handle.db)
    const store = new PostgresOutcomeStore(handle.db)
    const { item } = readItem({ request_id: 'req_1', kind: 'decision', decision: 'approved' })
    const held = item === null ? [] : [item, item]
    for (const environment of ['staging', 'production', null, 'staging'] as const) {
      const sender = { teamId, environment, by: 'key_1' }
      await store.write({ sender, matched: [], held, settled: [] })
    }
    const due = await store.due(Date.now() + 60_000, 10)
    const environments = due.map(({ sender }) => sender.environment)
    expect(environments.toSorted()).toEqual([null, 'production', 'staging'].toSorted())
    expect(due.map((one) => one.item)).toEqual(Array(3).fill(item))
  })
})
