import { randomBytes } from 'node:crypto'
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { IdempotencyStore } from '../../../src/http/idempotency/store.ts'
import { queryRows } from '../../../src/platform/db/client.ts'
import { backends, hasPostgres, postgres } from '../../support/start/databases.ts'
import { databaseForTest } from '../../support/start/seeded-database.ts'

const FREE = { held: null }

let claims = 0

function newClaim() {
  claims++
  return { keyHash: randomBytes(32), bodyHash: randomBytes(32), claimId: `claim-${claims}` }
}

test.each(backends)(
  'on $name of claims that come together each key has one, and all others see it',
  async (backend) => {
    const { db } = await databaseForTest(backend)
    const store = new IdempotencyStore(db)
    const keys = Array.from({ length: 40 }, newClaim)
    const asked = [...keys, ...keys].map((one, at) => ({ ...one, claimId: `${at}` }))
    const found = await Promise.all(asked.map((one) => store.claim(one)))
    expect(found.slice(0, 40)).toEqual(keys.map(() => FREE))
    expect(found.slice(40)).toEqual(
      keys.map(({ bodyHash }) => ({ held: { bodyHash, answer: null, isClaimed: true } })),
    )
  },
)

test.each(backends)(
  'on $name short and long answers that are kept together are found again',
  async (backend) => {
    const { db } = await databaseForTest(backend)
    const store = new IdempotencyStore(db)
    const kept = [1, 2_000, 16_384, 16_385, 3_000_000].map((length) => ({
      claim: newClaim(),
      answer: randomBytes(length),
    }))
    await Promise.all(kept.map(({ claim }) => store.claim(claim)))
    const stranger = { ...newClaim(), keyHash: kept[0]?.claim.keyHash ?? randomBytes(32) }
    const done = await Promise.all([
      store.keep(stranger, randomBytes(10)),
      ...kept.map(({ claim, answer }) => store.keep(claim, answer)),
    ])
    expect(done).toEqual([false, true, true, true, true, true])
    const again = await Promise.all(
      kept.map(({ claim }) => store.claim({ ...claim, claimId: 'x' })),
    )
    for (const [at, { held }] of again.entries()) {
      expect(held?.answer?.length).toBe(kept[at]?.answer.length)
      expect(
        Buffer.compare(held?.answer ?? Buffer.alloc(0), kept[at]?.answer ?? Buffer.of(1)),
      ).toBe(0)
    }
  },
)

// A change may hold its row for as long as an import takes.
test.skipIf(!hasPostgres)(
  'a row that a change holds is under way, and holds up no other',
  async () => {
    const { db } = await databaseForTest(postgres)
    const store = new IdempotencyStore(db)
    const held = newClaim()
    await store.claim(held)
    await db.execute(sql`update idempotency_keys set claimed_until = now() - interval '1 second'`)
    // It is not known yet whether the key will be free for another body.
    const another = { ...newClaim(), keyHash: held.keyHash }
    const found = await new Promise((resolve, reject) => {
      const change = db.transaction(async (tx) => {
        await tx.execute(sql`update idempotency_keys set changed_at = now()`)
        const asked = [another, newClaim(), newClaim()]
        resolve(await Promise.all(asked.map((claim) => store.claim(claim))))
        throw new Error('the change fails')
      })
      change.catch(reject)
    })
    const { bodyHash } = another
    expect(found).toEqual([{ held: { bodyHash, answer: null, isClaimed: true } }, FREE, FREE])
    await expect.poll(() => store.claim(another)).toEqual(FREE)
  },
)

// A request that has taken seconds is renewed, and is answered at any moment.
test.skipIf(!hasPostgres)('an answer waits for the renewal of its claim, and is kept', async () => {
  const { db } = await databaseForTest(postgres)
  const store = new IdempotencyStore(db)
  const claim = newClaim()
  await store.claim(claim)
  const waiting = sql`select 1 from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`
  const kept = await db.transaction(async (tx) => {
    await tx.execute(
      sql`update idempotency_keys set claimed_until = claimed_until + interval '1 second'`,
    )
    const keeping = store.keep(claim, randomBytes(10))
    await expect.poll(() => queryRows(db, waiting)).toHaveLength(1)
    return { keeping }
  })
  expect(await kept.keeping).toBe(true)
})
