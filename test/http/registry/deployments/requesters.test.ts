import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { queryRows } from '../../../../src/platform/db/client.ts'
import { newId } from '../../../../src/platform/ids.ts'
import { holdersQuery } from '../../../../src/registry/deployments/requesters.ts'
import { backends } from '../../../support/start/databases.ts'
import { databaseForTest } from '../../../support/start/seeded-database.ts'
import { insertTeam } from '../../../support/start/users.ts'

const RECORDS = 2_000

// The team is locked meanwhile: whoever else changes something would wait for the whole log.
test.each(backends)(
  'the audit log is not read to find who holds an account on $name',
  async (backend) => {
    const { db } = await databaseForTest(backend)
    const teamId = await insertTeam(db)
    await db.execute(sql`insert into audit_log (id, team_id, actor, action, subject, created_at)
    select 'aud_' || n, ${teamId}, 'usr_' || n, 'key.create', 'svc_' || n, now()
    from generate_series(1, ${RECORDS}::integer) as n`)
    await db.execute(sql`analyze audit_log`)
    const userId = newId('svc_', 0)
    const rows = await queryRows<Record<string, string>>(
      db,
      sql`explain ${holdersQuery({ teamId, userId })}`,
    )
    const plan = rows.map((row) => Object.values(row).join()).join('\n')
    expect(plan).toContain('audit_log_holders')
    expect(plan).not.toContain('Seq Scan on audit_log')
    expect(plan).not.toMatch(/audit_log_team/)
  },
)
