import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { AuditLog } from '../../../../schemas/auditlog.ts'
import { ROLES, type Role } from '../../../../src/http/access/caller.ts'
import { OPERATOR } from '../../../../src/identity/audit/record.ts'
import { newId } from '../../../../src/platform/ids.ts'
import { auditLog } from '../../../../src/tables/audit.ts'
import { expectSuccess, findOutcome } from '../../../support/expect/answers.ts'
import { backends } from '../../../support/start/databases.ts'
import { seeded } from '../../../support/start/seeded-database.ts'
import { TestService } from '../../../support/start/service.ts'
import { insertTeam, insertUser, type TestUser, tokenFor } from '../../../support/start/users.ts'

const URL = '/v1/audit-log'
const AT = Date.parse('2026-03-04T05:06:07.089Z')

describe.each(backends)('on $name', (backend) => {
  const teamUsers = new Map<Role | 'other', TestUser>()
  let service: TestService
  /** As the answers name them, oldest first. */
  const written: Array<Record<string, unknown>> = []

  beforeAll(async () => {
    const withRecords = seeded(backend, async (db) => {
      const [teamId, otherTeamId] = [await insertTeam(db), await insertTeam(db)]
      for (const role of ROLES) teamUsers.set(role, await insertUser(db, teamId, role))
      teamUsers.set('other', await insertUser(db, otherTeamId, 'owner'))
      const documents = [
        { before: null, after: { name: 'quotes " and \\ and \u0000', list: [1, 2.5, null, true] } },
        { before: { status: 'active' }, after: { status: 'archived' } },
        { before: { rate_limit_per_minute: null }, after: { deep: { zeta: 1, alpha: {} } } },
        { before: { name: 'k' }, after: null },
        { before: {}, after: {} },
      ]
      for (const [index, { before, after }] of documents.entries()) {
        const createdAt = new Date(AT + index)
        const record = {
          id: newId('aud_', createdAt.getTime()),
          action: 'model.archive',
          before,
          after,
          actor: index === 2 ? OPERATOR : 'usr_x',
          subject: `mod_${index}`,
          reason: index === 1 ? 'drift: "too many" declined\n' : null,
        }
        await db.insert(auditLog).values({ ...record, teamId, createdAt })
        await db.insert(auditLog).values({
          ...record,
          id: newId('aud_', createdAt.getTime()),
          subject: 'secret project',
          teamId: otherTeamId,
          createdAt,
        })
        written.push({ ...record, created_at: createdAt.toISOString() })
      }
    })
    service = await TestService.start(withRecords)
  })
  afterAll(() => service.close())

  const as = (who: Role | 'other') => tokenFor(service, teamUsers.get(who) ?? expect.fail(who))
  const list = async (query = '', who: Role | 'other' = 'admin') =>
    expectSuccess(await service.call({ method: 'GET', url: URL + query, token: as(who) }), AuditLog)

  // Whoever asks why an applicant was declined reads here what was changed before, and by whom.
  test('the list shows every record as it was written, newest first', async () => {
    const newestFirst = written.toReversed()
    const body = await list()
    expect(body).toEqual({ records: newestFirst })
    // In the order of properties too.
    const documents = (records: Array<Record<string, unknown>>) =>
      records.map(({ before, after }) => JSON.stringify([before, after]))
    expect(documents(body.records)).toEqual(documents(newestFirst))
  })

  test('the records of one subject are those that name it, paged alike', async () => {
    expect(await list('?subject=mod_3')).toEqual({ records: [written[3]] })
    expect(await list('?subject=mod_3&limit=1')).toEqual({ records: [written[3]] })
    expect(await list('?subject=mod_9')).toEqual({ records: [] })
  })

  test.each([1, 2, 4, 5, 200])(
    'pages of %d lead through all records once, and end',
    async (limit) => {
      const paged: unknown[] = []
      let cursor: string | undefined
      do {
        const page = await list(`?limit=${limit}${cursor === undefined ? '' : `&cursor=${cursor}`}`)
        expect(page.records.length).toBeLessThanOrEqual(limit)
        paged.push(...page.records)
        cursor = page.next_cursor
      } while (cursor !== undefined)
      expect(paged).toEqual(written.toReversed())
    },
  )

  // Changes of another lender are secret, even the fact that they are a customer.
  test('a team sees its own records only, with the cursor of another team too', async () => {
    const { records } = await list('', 'other')
    expect(records).toHaveLength(5)
    for (const { subject } of records) expect(subject).toBe('secret project')
    const foreign = await list(`?cursor=${records[0].id}`)
    expect(JSON.stringify(foreign)).not.toContain('secret project')
  })

  test('a change shows in the log with the next question', async () => {
    const body = { name: 'loan desk' }
    const made = await service.call({ url: '/v1/keys', token: as('owner'), body })
    const [newest] = (await list('?limit=1')).records
    expect(newest).toMatchObject({
      actor: teamUsers.get('owner')?.userId,
      action: 'key.create',
      subject: made.json().id,
      before: null,
      reason: null,
      after: { name: 'loan desk', scopes: ['score'], environment: null },
    })
    written.push(newest)
  })

  test.each(['lead_modeler', 'modeler', 'viewer'] as const)('the %s is 403', async (role) => {
    const response = await service.call({ method: 'GET', url: URL, token: as(role) })
    expect(findOutcome(response)).toBe('403 insufficient_role')
  })

  test('without a token it is 401, and a wrong query is 403 before it is 400', async () => {
    const ask = async (url: string, token?: string) =>
      findOutcome(await service.call({ method: 'GET', url, ...(token !== undefined && { token }) }))
    expect(await ask(URL)).toBe('401 unauthorized')
    expect(await ask(`${URL}?limit=0`, as('viewer'))).toBe('403 insufficient_role')
    for (const query of [
      'limit=0',
      'limit=201',
      'limit=x',
      'cursor=%00',
      'cursor=',
      'who=me',
      'actor=%00',
      'kind=none',
      'from=yesterday',
      'action=deploy',
    ]) {
      expect(await ask(`${URL}?${query}`, as('owner')), query).toBe('400 invalid_request')
    }
  })
})
