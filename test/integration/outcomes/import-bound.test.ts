import { sql } from 'drizzle-orm'
import { describe, expect, test } from 'vitest'
import { auditRecord } from '../../../src/identity/audit/record.ts'
import { ImportStore } from '../../../src/outcomes/import-store.ts'
import { TEAM_IMPORTS_MAX } from '../../../src/outcomes/imports.ts'
import { countStatuses } from '../../../src/outcomes/item.ts'
import { queryRows } from '../../../src/platform/db/client.ts'
import { newId } from '../../../src/platform/ids.ts'
import { backends } from '../../support/start/databases.ts'
import { databaseForSuite } from '../../support/start/seeded-database.ts'
import { insertTeam } from '../../support/start/users.ts'

describe.each(backends)('on $name', (backend) => {
  const handle = databaseForSuite(backend)

  function add(teamId: string): Promise<boolean> {
    const id = newId('imp_', Date.now())
    const sender = { teamId, environment: null, by: 'usr_1' }
    const change = { action: 'outcomes.import', subject: id, after: { format: 'csv' } } as const
    const record = auditRecord({ userId: 'usr_1', teamId }, change, Date.now())
    const order = { id, sender, format: 'csv', counts: countStatuses([]) } as const
    return new ImportStore(handle.db).add(order, record, TEAM_IMPORTS_MAX)
  }

  // Each process alone would grant the whole bound.
  test('a team has five imports under way over all replicas, however many begin at once', async () => {
    const teamId = await insertTeam(handle.db)
    const added = await Promise.all(Array.from({ length: 9 }, () => add(teamId)))
    expect(added.filter(Boolean)).toHaveLength(TEAM_IMPORTS_MAX)
    expect(await add(await insertTeam(handle.db))).toBe(true)
    const store = new ImportStore(handle.db)
    expect(await store.running(teamId)).toBe(TEAM_IMPORTS_MAX)
  })

  // The files of a lost machine would else shut its teams out for good.
  test('an import that no process has seen for ten minutes gives its place back', async () => {
    const teamId = await insertTeam(handle.db)
    while (await add(teamId));
    await handle.db.execute(sql`update outcome_imports
      set seen_at = now() - interval '11 minutes' where team_id = ${teamId}`)
    expect(await add(teamId)).toBe(true)
    const store = new ImportStore(handle.db)
    expect(await store.running(teamId)).toBe(1)
    const rows = await queryRows<{ id: string }>(
      handle.db,
      sql`select id from outcome_imports where team_id = ${teamId}`,
    )
    await store.see(rows.map(({ id }) => id))
    expect(await store.running(teamId)).toBe(TEAM_IMPORTS_MAX + 1)
  })

  // The file of a lost machine would else be under way for ever.
  test('an import that no process has seen for a day has failed, and says why', async () => {
    const teamId = await insertTeam(handle.db)
    await add(teamId)
    await add(teamId)
    const store = new ImportStore(handle.db)
    const rows = await queryRows<{ id: string }>(
      handle.db,
      sql`select id from outcome_imports where team_id = ${teamId} order by id`,
    )
    const [lost = '', seen = ''] = rows.map(({ id }) => id)
    await handle.db.execute(sql`update outcome_imports set lines = 7,
        errors = '[{"line": 3, "message": "faulty"}]', seen_at = now() - interval '25 hours'
      where id = ${lost}`)
    await store.failUnseen()
    expect(await store.find(lost)).toMatchObject({
      status: 'failed',
      errors: [
        { line: 3, message: 'faulty' },
        {
          line: 8,
          message: 'the process with the file has not been seen for a day: send the file again',
        },
      ],
    })
    expect(await store.find(seen)).toMatchObject({ status: 'running', errors: [] })
  })
})
