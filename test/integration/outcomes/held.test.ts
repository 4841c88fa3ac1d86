import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { beforeAll, describe, expect, test } from 'vitest'
import { hashOfReference } from '../../../src/log/erasure/erasure-list.ts'
import { lockOutcomes } from '../../../src/outcomes/fact-writer.ts'
import { type OutcomeItem, readItem } from '../../../src/outcomes/item.ts'
import { OutcomeStore } from '../../../src/outcomes/store.ts'
import { queryRows } from '../../../src/platform/db/client.ts'
import { readApplicant } from '../../support/score-log/outcome-applicants.ts'
import { backends } from '../../support/start/databases.ts'
import { databaseForSuite } from '../../support/start/seeded-database.ts'
import { insertTeam } from '../../support/start/users.ts'

const LEASE_MS = 60_000
const HOUR_MS = 3_600_000

describe.each(backends)('on $name', (backend) => {
  const handle = databaseForSuite(backend)
  let store: OutcomeStore

  beforeAll(() => {
    store = new OutcomeStore(handle.db)
  })

  const findItem = (fields: object): OutcomeItem => {
    const { item, fault } = readItem(
      { kind: 'decision', decision: 'approved', ...fields },
      Date.now(),
    )
    if (item === null) throw new Error(fault)
    return item
  }
  const listItems = (count: number) =>
    Array.from({ length: count }, (_, n) => findItem({ deployment: 'dep_1', reference: `A-${n}` }))
  const readWrite = (teamId: string, held: readonly OutcomeItem[], receivedAtMs = Date.now()) => ({
    sender: { teamId, environment: null, by: 'usr_1' },
    matched: [],
    held,
    receivedAtMs,
    settled: [],
  })
  /** Takes what is due in a minute, of these teams. */
  async function taken(teamIds: readonly string[], limit: number, nowMs = Date.now() + 60_000) {
    const due = await store.takeDue({ nowMs, leaseMs: LEASE_MS, limit })
    return due.filter(({ sender }) => teamIds.includes(sender.teamId))
  }
  const nothingIsHeld = () => handle.db.execute(sql`delete from held_outcomes`)

  // A key of staging that names a score of production would else keep its outcome away for good.
  test('the same outcome is held once for each environment', async () => {
    const teamId = await insertTeam(handle.db)
    const item = findItem({ request_id: 'req_1' })
    for (const environment of ['staging', 'production', null, 'staging'] as const) {
      const write = readWrite(teamId, [item, item])
      await store.write({ ...write, sender: { ...write.sender, environment } })
    }
    const due = await taken([teamId], 1_000)
    const environments = due.map(({ sender }) => sender.environment)
    expect(environments.toSorted()).toEqual([null, 'production', 'staging'].toSorted())
    expect(due.map((one) => one.item)).toEqual(Array(3).fill(item))
  })

  // A team that sends a million would else have every round for hours.
  test('each team has its share of a round', async () => {
    await nothingIsHeld()
    const [many, few] = [await insertTeam(handle.db), await insertTeam(handle.db)]
    await store.write(readWrite(many, listItems(300)))
    await store.write(readWrite(few, listItems(3)))
    const due = await taken([many, few], 100)
    const of = (teamId: string) => due.filter(({ sender }) => sender.teamId === teamId).length
    expect([of(many), of(few)]).toEqual([50, 3])
    // The other team has nothing that is due.
    expect(await taken([many, few], 100)).toHaveLength(100)
  })

  test('processes that take at once take different items, until the lease has ended', async () => {
    await nothingIsHeld()
    const teamId = await insertTeam(handle.db)
    await store.write(readWrite(teamId, listItems(40)))
    const nowMs = Date.now() + 60_000
    const rounds = await Promise.all([1, 2, 3].map(() => taken([teamId], 15, nowMs)))
    // Those that met another at the same rows went without: later rounds take what they left.
    while (await store.hasDue(nowMs)) rounds.push(await taken([teamId], 15, nowMs))
    const ids = rounds.flat().map(({ id }) => id)
    expect([ids.length, new Set(ids).size]).toEqual([40, 40])
    expect(await taken([teamId], 100, nowMs + LEASE_MS)).toHaveLength(40)
  })

  test('a postponed item says when it was looked for', async () => {
    await nothingIsHeld()
    const teamId = await insertTeam(handle.db)
    await store.write(readWrite(teamId, listItems(1)))
    const nowMs = Date.now() + HOUR_MS
    const [first] = await taken([teamId], 10, nowMs)
    expect(first?.tries).toBe(0)
    await store.postpone([first?.id ?? 0], { nowMs, nextTryAtMs: nowMs + HOUR_MS })
    expect(await taken([teamId], 10, nowMs)).toEqual([])
    const again = await taken([teamId], 10, nowMs + HOUR_MS)
    expect(again).toMatchObject([{ tries: 1, triedAtMs: nowMs }])
  })

  test('beyond the bound an outcome is told that it is not held', async () => {
    const teamId = await insertTeam(handle.db)
    const bounded = new OutcomeStore(handle.db, 2)
    const items = listItems(3)
    const holdings = async (held: readonly OutcomeItem[]) =>
      (await bounded.write(readWrite(teamId, held))).holdings
    expect(await holdings(items.slice(0, 2))).toEqual(['held', 'held'])
    expect(await holdings(items.slice(2))).toEqual(['full'])
    expect(await taken([teamId], 1_000)).toHaveLength(2)
  })

  test('an outcome of many texts is not held, and said to be too long', async () => {
    const teamId = await insertTeam(handle.db)
    const reasons = Array.from({ length: 50 }, () => 'a'.repeat(100))
    const long = findItem({ deployment: 'dep_1', reference: 'A-1', policy_reasons: reasons })
    const { holdings } = await store.write(readWrite(teamId, [long, ...listItems(1)]))
    expect(holdings).toEqual(['long', 'held'])
  })

  // An outcome that was on its way would else bring the erased reference back.
  test('an erased reference is neither held nor stored again, and a later one is', async () => {
    const teamId = await insertTeam(handle.db)
    const erasedAtMs = Date.now()
    const hash = hashOfReference(teamId, 'A-1')
    await handle.db.execute(sql`insert into log_erasures (team_id, reference_hash, covers_until)
      values (${teamId}, ${hash}, ${new Date(erasedAtMs).toISOString()})`)
    const held = listItems(3)
    const before = await store.write(readWrite(teamId, held, erasedAtMs))
    expect(before.holdings).toEqual(['held', 'erased', 'held'])
    const after = await store.write(readWrite(teamId, held, erasedAtMs + 1))
    expect(after.holdings).toEqual(['held', 'held', 'held'])

    const fact = { definition: '', asOfMs: 0, content: { decision: 'approved' } }
    const matched = [erasedAtMs, erasedAtMs + 1].map((scoredAtMs) => ({
      applicant: { ...readApplicant(teamId), scoredAtMs, referenceHash: hash },
      fact,
    }))
    await store.write({ ...readWrite(teamId, []), matched })
    const rows = await queryRows<{ hash: string | null }>(
      handle.db,
      sql`select reference_hash as hash from outcome_applicants where team_id = ${teamId}
        order by scored_at`,
    )
    expect(rows.map((row) => row.hash)).toEqual([null, hash])
  })

  test('an erasure waits for an outcome that is being stored, and finds its reference', async () => {
    const teamId = await insertTeam(handle.db)
    const started = Promise.withResolvers<void>()
    const storing = handle.db.transaction(async (tx) => {
      await lockOutcomes(tx, teamId)
      const { requestId } = readApplicant(teamId)
      await tx.execute(sql`insert into outcome_applicants (team_id, deployment_id, request_id,
          record_index, is_batch, applicants, scored_at, reference_hash, served, results,
          keep_until)
        values (${teamId}, 'dep_1', ${requestId}, 0, false, 1, now(),
          ${hashOfReference(teamId, 'A-1')}, 0, '[]', now() + interval '1 day')`)
      started.resolve()
      // Long enough for an erasure that does not wait.
      await delay(300)
    })
    await started.promise
    const erased = store.eraseReference(teamId, 'A-1')
    await storing
    expect(await erased).toBe(1)
  })
})
