import { describe, expect, test } from 'vitest'
import { NoticeStore } from '../../../../src/jobs/webhooks/notice-store.ts'
import { Notices } from '../../../../src/jobs/webhooks/notices.ts'
import { newId } from '../../../../src/platform/ids.ts'
import { apiKeys } from '../../../../src/tables/keys.ts'
import { webhookEvents, webhooks } from '../../../../src/tables/webhooks.ts'
import { backends } from '../../../support/start/databases.ts'
import { databaseForSuite } from '../../../support/start/seeded-database.ts'
import { insertTeam } from '../../../support/start/users.ts'

const DAY_MS = 24 * 3_600_000
/** Far from midnight, when the day of the notices changes. */
const NOON_MS = Date.parse('2026-03-02T12:00:00Z')

describe.each(backends)('on $name', (backend) => {
  const handle = databaseForSuite(backend)

  /** A team with a webhook and keys that expire in some days each. */
  async function teamWith(...expiries: readonly (number | null)[]): Promise<string> {
    const teamId = await insertTeam(handle.db)
    const at = new Date(NOON_MS)
    await handle.db.insert(webhooks).values({
      id: newId('whk_', Date.now()),
      teamId,
      url: 'https://risk.lender.example/',
      types: ['key.expiring'],
      isActive: true,
      secret: Buffer.alloc(1),
      sealedWith: 'none',
      createdBy: 'usr_1',
      createdAt: at,
      updatedAt: at,
    })
    const keys = expiries.map((days) => ({
      id: newId('key_', Date.now()),
      teamId,
      name: 'k',
      keyHash: crypto.randomUUID(),
      keyPrefix: 'sk_live_none',
      scopes: ['score'],
      createdBy: 'usr_1',
      createdAt: at,
      expiresAt: days === null ? null : new Date(at.getTime() + days * DAY_MS),
    }))
    await handle.db.insert(apiKeys).values(keys)
    return teamId
  }
  const noticesAt = (ahead: number) =>
    new Notices({
      store: new NoticeStore(handle.db),
      clock: { epochMs: () => NOON_MS + ahead * DAY_MS, monotonicMs: () => 0 },
      readCheckpoint: () => Promise.reject(new Error('not asked')),
      awayMs: () => 0,
      spoolRefusal: () => null,
      instance: 'one',
      onFailed: (error) => expect.fail(String(error)),
    })
  async function roundOn(ahead: number): Promise<void> {
    const notices = noticesAt(ahead)
    await notices.daily()
    await notices.close()
  }
  const sentTo = async (teamId: string): Promise<number> =>
    (await handle.db.select().from(webhookEvents)).filter((event) => event.teamId === teamId).length

  // What a bound leaves out for good is a key that ends without a warning.
  test('every key of a team is sent each day, however many it has', async () => {
    const many = await teamWith(...Array.from({ length: 230 }, () => 2))
    const few = await teamWith(1, 13, 15, null, -1)
    await roundOn(0)
    expect([await sentTo(many), await sentTo(few)]).toEqual([230, 2])
    await roundOn(0)
    expect([await sentTo(many), await sentTo(few)]).toEqual([230, 2])
    await roundOn(1.01)
    // One has expired, and one has come near.
    expect([await sentTo(many), await sentTo(few)]).toEqual([460, 4])
  })
})
