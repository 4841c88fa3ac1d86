import { expect, test } from 'vitest'
import type { AuditLogStore } from '../../../../src/identity/audit/reader.ts'
import { AuditLogService } from '../../../../src/identity/audit/service.ts'
import { ManualClock } from '../../../support/start/manual-clock.ts'

/** A log of which nobody has read the end yet. */
const STORE: Pick<AuditLogStore, keyof AuditLogStore> = {
  ofTeam: async () => ({ items: [], nextCursor: null }),
  emails: async () => new Map(),
  following: async (_teamId, after) => [
    {
      id: `aud_${after}`,
      actor: 'usr_1',
      action: 'model.deploy',
      subject: 'mod_1',
      before: null,
      after: null,
      reason: null,
      createdAt: new Date(0),
      position: after + 1,
    },
  ],
  findPosition: async () => 0,
  add: async () => 1_000,
}

const OF_TEAM_MAX = 2
const MAX = 8

function exporting() {
  const auditLog = new AuditLogService(STORE, new ManualClock())
  return async (teamId: string) => {
    const records = auditLog.export({ userId: 'usr_1', teamId }, undefined)
    await records.next()
    return records
  }
}

// Readers that stall would keep every other team from its log.
test('a team that takes all its places leaves places for other teams', async () => {
  const begin = exporting()
  const first = await begin('team_1')
  for (let n = 1; n < OF_TEAM_MAX; n++) await begin('team_1')
  await expect(begin('team_1')).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('of this team'),
  })
  await begin('team_2')
  // Its reader has left.
  await first.return(undefined)
  await begin('team_1')
  await expect(begin('team_1')).rejects.toMatchObject({ code: 'unavailable' })
})

test('the exports of all teams have a bound, and an end makes room', async () => {
  const begin = exporting()
  const begun = []
  for (let n = 0; n < MAX; n++) begun.push(await begin(`team_${n}`))
  await expect(begin('team_last')).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('too much to do'),
  })
  await begun[3]?.return(undefined)
  await begin('team_last')
})
