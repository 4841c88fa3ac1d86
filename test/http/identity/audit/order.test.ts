import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { AuditLog } from '../../../../schemas/auditlog.ts'
import { auditRecord } from '../../../../src/identity/audit/record.ts'
import { insertAuditRecord } from '../../../../src/identity/audit/writer.ts'
import { expectSuccess } from '../../../support/expect/answers.ts'
import { backends } from '../../../support/start/databases.ts'
import { seeded } from '../../../support/start/seeded-database.ts'
import { TestService } from '../../../support/start/service.ts'
import { insertTeam, insertUser, type TestUser, tokenFor } from '../../../support/start/users.ts'

const findSubjects = (records: ReadonlyArray<{ subject: string }>) =>
  records.map(({ subject }) => subject)
const AT = Date.parse('2026-03-04T05:06:07.089Z')

describe.each(backends)('on $name', (backend) => {
  let service: TestService
  let owner: TestUser
  /** Subjects in the order in which their changes were made. */
  const made: string[] = []

  beforeAll(async () => {
    const withRecords = seeded(backend, async (db) => {
      const teamId = await insertTeam(db)
      owner = await insertUser(db, teamId, 'owner')
      const actor = { userId: owner.userId, teamId }
      const change = (subject: string, requestedAtMs: number, holdMs = 0) =>
        db.transaction(async (tx) => {
          const order = { action: 'model.archive', subject } as const
          await insertAuditRecord(tx, auditRecord(actor, order, requestedAtMs))
          made.push(subject)
          await sleep(holdMs)
        })
      // Asked for later, made earlier: the other request waited, for instance for the team.
      await change('mod_b', AT + 2_000)
      await change('mod_a', AT)
      // At the same time: who writes first is not done first, unless the second waits.
      const slow = change('mod_d', AT + 9_000, 300)
      while (!made.includes('mod_d')) await sleep(5)
      await Promise.all([slow, change('mod_c', AT + 8_000)])
    })
    service = await TestService.start(withRecords)
  })
  afterAll(() => service.close())

  const list = async (query: string) => {
    const url = `/v1/audit-log${query}`
    const token = tokenFor(service, owner)
    return expectSuccess(await service.call({ method: 'GET', url, token }), AuditLog)
  }

  // Who approved what before whom is read from this order.
  test('the log is in the order in which the changes were made', async () => {
    expect(made).toEqual(['mod_b', 'mod_a', 'mod_d', 'mod_c'])
    const { records } = await list('')
    expect(findSubjects(records)).toEqual(made.toReversed())
  })

  test.each([1, 2, 3])('pages of %d lead through it in this order', async (limit) => {
    const subjects: string[] = []
    let cursor = ''
    do {
      const page = await list(`?limit=${limit}${cursor && `&cursor=${cursor}`}`)
      subjects.push(...findSubjects(page.records))
      cursor = page.next_cursor ?? ''
    } while (cursor !== '')
    expect(subjects).toEqual(made.toReversed())
  })
})
