import { eq, ne } from 'drizzle-orm'
import { describe, expect, onTestFinished, test } from 'vitest'
import { auditLog } from '../../../../src/tables/audit.ts'
import { refreshTokens, users } from '../../../../src/tables/auth.ts'
import { backends } from '../../../support/start/databases.ts'
import { seeded, withDatabase } from '../../../support/start/seeded-database.ts'
import { TestService } from '../../../support/start/service.ts'
import { insertTeam, insertUser, type TestUser, tokenFor } from '../../../support/start/users.ts'

const AT = Date.parse('2026-03-04T05:06:07.089Z')
const PASSWORD = 'correct horse battery'

describe.each(backends)('on $name', (backend) => {
  // Auditors ask years later who added or removed a member.
  test('each change has one audit record, a refused one has none, and no record holds a password', async () => {
    const teamUsers: TestUser[] = []
    const withTeam = seeded(backend, async (db) => {
      const teamId = await insertTeam(db)
      teamUsers.push(await insertUser(db, teamId, 'owner'), await insertUser(db, teamId, 'admin'))
    })
    const clock = { nowMs: AT, epochMs: () => clock.nowMs++, monotonicMs: () => performance.now() }
    const service = await TestService.start(withTeam, { clock })
    onTestFinished(() => service.close())
    const [owner, admin] = teamUsers
    if (owner === undefined || admin === undefined) throw new Error('no user was added')

    const call = async (method: 'POST' | 'PATCH' | 'DELETE', id: string, body?: object) => {
      const url = id === '' ? '/v1/members' : `/v1/members/${id}`
      const token = tokenFor(service, owner)
      const response = await service.call({ method, url, token, ...(body && { body }) })
      return response.body === '' ? {} : response.json()
    }
    const order = { email: 'Jane@Lender.Example', password: PASSWORD, role: 'modeler' }
    const jane = await call('POST', '', order)
    await service.call({ url: '/api/auth/login', body: order })
    await call('PATCH', jane.id, { role: 'admin' })
    // None of these changes anything.
    await call('PATCH', jane.id, { role: 'admin' })
    await call('POST', '', order)
    await call('PATCH', owner.userId, { role: 'viewer' })
    await call('DELETE', owner.userId)
    const login = { email: order.email, password: order.password }
    expect((await service.call({ url: '/api/auth/login', body: login })).statusCode).toBe(200)
    const removed = await service.call({
      method: 'DELETE',
      url: `/v1/members/${jane.id}`,
      token: tokenFor(service, owner),
    })
    expect(removed.statusCode).toBe(204)

    await service.app.close()
    await service.services.close()
    const { records, tokens, rows } = await withDatabase(service.config, async (db) => ({
      records: await db
        .select()
        .from(auditLog)
        .where(ne(auditLog.action, 'session.sign_in'))
        .orderBy(auditLog.createdAt),
      tokens: await db.select().from(refreshTokens).where(eq(refreshTokens.userId, jane.id)),
      rows: await db.select().from(users).where(eq(users.id, jane.id)),
    }))
    const by = { actor: owner.userId, teamId: owner.teamId, subject: jane.id, reason: null }
    const email = 'jane@lender.example'
    const made = {
      position: expect.any(Number),
      id: expect.stringMatching(/^aud_/),
      createdAt: expect.any(Date),
    }
    expect(records).toEqual([
      { ...by, ...made, action: 'member.create', before: null, after: { email, role: 'modeler' } },
      {
        ...by,
        ...made,
        action: 'member.update',
        before: { role: 'modeler' },
        after: { role: 'admin' },
      },
      { ...by, ...made, action: 'member.delete', before: { email, role: 'admin' }, after: null },
    ])
    expect(JSON.stringify(records)).not.toMatch(/argon|horse/)
    expect([tokens, rows], 'the removed member leaves no session and no row').toEqual([[], []])
  })
})
