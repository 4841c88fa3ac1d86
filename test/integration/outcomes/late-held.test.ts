import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import type { OutcomeFact, OutcomeItem } from '../../../src/outcomes/item.ts'
import { OutcomeStore } from '../../../src/outcomes/store.ts'
import { queryRows } from '../../../src/platform/db/client.ts'
import { newId } from '../../../src/platform/ids.ts'
import { readApplicant } from '../../support/score-log/outcome-applicants.ts'
import { backends } from '../../support/start/databases.ts'
import { databaseForSuite } from '../../support/start/seeded-database.ts'
import { insertTeam } from '../../support/start/users.ts'

/** What was said of one applicant and moment, in this order; some of it waited for the score. */
const history = fc.array(fc.record({ amount: fc.nat(3), isHeld: fc.boolean() }), {
  minLength: 2,
  maxLength: 6,
})

describe.each(backends)('on $name', (backend) => {
  const handle = databaseForSuite(backend)
  let store: OutcomeStore

  beforeAll(() => {
    store = new OutcomeStore(handle.db)
  })

  // A lender corrects an outcome whose first version still waits: the correction must stay.
  test('what came last is current, in whatever order held outcomes are attached', async () => {
    for (const said of fc.sample(fc.tuple(history, fc.infiniteStream(fc.nat())), 25)) {
      const [events, order] = said
      const teamId = await insertTeam(handle.db)
      const applicant = readApplicant(teamId)
      const sender = { teamId, environment: null, by: 'usr_1' }
      const write = { sender, matched: [], held: [], receivedAtMs: Date.now(), settled: [] }
      for (const { amount, isHeld } of events) {
        const fact: OutcomeFact = { definition: '', asOfMs: 0, content: { amount } }
        const target = { by: 'request', recordIndex: 0, recordId: null } as const
        // Each is held, also where the same was held before.
        const item: OutcomeItem = { target: { ...target, requestId: newId('req_', 0) }, fact }
        await delay(2)
        if (isHeld) await store.write({ ...write, held: [item] })
        else await store.write({ ...write, matched: [{ applicant, fact }] })
      }
      const nowMs = Date.now() + 60_000
      const due = await store.takeDue({ nowMs, leaseMs: 60_000, limit: 1_000 })
      const own = due.filter((one) => one.sender.teamId === teamId)
      expect(own.map(({ id }) => id)).toEqual(own.map(({ id }) => id).toSorted((a, b) => a - b))
      while (own.length > 0) {
        const [held] = own.splice(Number(order.next().value) % own.length, 1)
        if (held === undefined) break
        const { item, heldAtMs, id } = held
        const matched = [{ applicant, fact: item.fact, heldAtMs }]
        await store.write({ ...write, matched, settled: [id] })
      }
      const [current] = await queryRows<{ amount: number }>(
        handle.db,
        sql`select (content ->> 'amount')::integer as amount from outcomes
          join outcome_applicants as applicant on applicant.id = applicant_id
          where team_id = ${teamId} order by revision desc limit 1`,
      )
      expect(current?.amount, JSON.stringify(events)).toBe(events.at(-1)?.amount)
    }
  })
})
