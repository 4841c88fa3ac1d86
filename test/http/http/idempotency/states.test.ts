import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { sql } from 'drizzle-orm'
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { AppError } from '../../../../src/errors.ts'
import { maintainKeys } from '../../../../src/http/idempotency/maintenance.ts'
import { IdempotencyStore } from '../../../../src/http/idempotency/store.ts'
import { systemClock } from '../../../../src/platform/clock.ts'
import { type Database, queryRows } from '../../../../src/platform/db/client.ts'
import { card, plainFeature } from '../../../support/cards/cards.ts'
import { findOutcome } from '../../../support/expect/answers.ts'
import {
  expectAgain,
  formatDatabase,
  keyed,
  newKey,
  readChanges,
  spyOnStore,
} from '../../../support/scenarios/idempotency.ts'
import { backends } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'
import { numberedSpec, Team } from '../../../support/start/team.ts'

/** Without Redis, so that the database holds the keys of scores, too. */
const AWAY = 'redis://127.0.0.1:1'

describe.each(backends)('on $name', (backend) => {
  const monotonicMs = () => systemClock.monotonicMs() + aheadMs
  const clock = { ...systemClock, monotonicMs }
  const service = TestService.forSuite(backend, { clock, env: { REDIS_URL: AWAY } })
  const team = Team.forSuite(service)
  let db: Database
  let slug: string
  let aheadMs = 0

  beforeAll(async () => {
    db = await formatDatabase(team)
    slug = (await team.deploy(numberedSpec(1))).slug
  })
  afterEach(() => {
    vi.restoreAllMocks()
    // A store whose failure took long on a busy machine is left alone for five seconds.
    aheadMs += 5_000
  })

  const score = (key: string, body: object = { income: 1 }) =>
    keyed(service, key, { url: `/v1/score/${slug}`, token: team.key, body })
  const batch = (key: string, income = 1) =>
    keyed(service, key, {
      url: `/v1/score/${slug}/batch`,
      token: team.key,
      body: { records: [{ income }] },
    })
  const create = (key: string, name = 'loan desk') =>
    keyed(service, key, { url: '/v1/keys', token: team.owner, body: { name } })
  const fail = async () => {
    throw new AppError('unavailable', 'the database is away')
  }
  /** Moves the times of all keys into the past. */
  const age = (interval: string) =>
    db.execute(
      sql`update idempotency_keys set claimed_until = claimed_until - ${interval}::interval,
        expires_at = expires_at - ${interval}::interval`,
    )
  /** Those that the service may remove meanwhile are not counted. */
  const keysStored = async () => {
    const statement = sql`select count(*)::int as n from idempotency_keys where expires_at > now()`
    return (await queryRows<{ n: number }>(db, statement))[0]?.n
  }

  // Two workers of a client may send the same application at the same moment.
  test('while the first request is under way, others are asked to come again', async () => {
    const key = newKey()
    const gate = Promise.withResolvers<void>()
    const keep = spyOnStore('keep').mockImplementation(async () => {
      await gate.promise
      keep.mockRestore()
      return false
    })
    const first = create(key)
    while (keep.mock.calls.length === 0) await new Promise(setImmediate)
    const [claim, answer] = keep.mock.calls[0] ?? expect.fail()
    const second = await create(key)
    expect(findOutcome(second)).toBe('409 idempotency_in_progress')
    expect(Number(second.headers['retry-after'])).toBe(1)
    expect(findOutcome(await create(key, 'another'))).toBe('422 idempotency_key_reused')
    keep.mockRestore()
    await new IdempotencyStore(db).keep(claim, answer)
    gate.resolve()
    const body = (await first).body
    expect((await create(key)).body).toBe(body)
  })

  // A mistake must not cost a key: the client corrects it and goes on.
  test.each([
    ['404', () => team.call('PATCH', `/v1/deployments/${slug}`, { is_active: false })],
    ['422', () => team.call('PATCH', `/v1/deployments/${slug}`, { strict_mode: true })],
  ])('a request that is refused with %s frees its key', async (status, cause) => {
    const key = newKey()
    const stored = await keysStored()
    await cause()
    expect(findOutcome(await score(key, {}))).toContain(status)
    await team.done('PATCH', `/v1/deployments/${slug}`, { is_active: true, strict_mode: false })
    expect(await keysStored()).toBe(stored)
    const answer = await score(key, { income: 2 })
    expect(answer.statusCode).toBe(200)
    expect(answer.headers).not.toHaveProperty('idempotent-replayed')
  })

  // What fails must not look as if it had been done: the next attempt is the first one.
  test('a request that fails frees its key', async () => {
    const key = newKey()
    await db.execute(sql`alter table api_keys rename to api_keys_away`)
    const failed = await create(key)
    await db.execute(sql`alter table api_keys_away rename to api_keys`)
    expect(failed.statusCode).toBe(503)
    expect((await create(key)).statusCode).toBe(201)
  })

  // A lender's decisions must not stop because a retry could not be made safe.
  test('without the store a request is executed, and says that a retry is, too', async () => {
    const key = newKey()
    const claim = spyOnStore('claim').mockImplementation(fail)
    const answers = [await score(key), await score(key)]
    claim.mockRestore()
    for (const { statusCode, headers } of answers) {
      expect([statusCode, headers['idempotency-kept']]).toEqual([200, 'false'])
    }
    expect(answers[0]?.json().request_id).not.toBe(answers[1]?.json().request_id)
  })

  test('a score whose answer could not be kept is scored again', async () => {
    const key = newKey()
    const keep = spyOnStore('keep').mockImplementation(fail)
    const first = await score(key)
    keep.mockRestore()
    expect([first.statusCode, first.headers['idempotency-kept']]).toEqual([200, 'false'])
    const second = await score(key)
    expect(second.statusCode).toBe(200)
    expect(second.headers).not.toHaveProperty('idempotent-replayed')
    expect(second.json().request_id).not.toBe(first.json().request_id)
  })

  // A second rollback brings back the model that the first one has taken away.
  test('a change whose answer could not be kept is not made again', async () => {
    const key = newKey()
    const keep = spyOnStore('keep').mockImplementation(fail)
    const first = await create(key)
    keep.mockRestore()
    expect([first.statusCode, first.headers['idempotency-kept']]).toEqual([201, 'false'])
    const changes = await readChanges(team)
    expect(findOutcome(await create(key))).toBe('409 idempotency_answer_lost')
    expect(await readChanges(team)).toBe(changes)
  })

  /** As a process leaves a key that dies at this moment. */
  async function dieWhile<Answer>(
    step: 'claim' | 'keep',
    call: () => Promise<Answer>,
  ): Promise<Answer> {
    const noRelease = spyOnStore('release').mockImplementation(async () => {})
    const store = spyOnStore('keep').mockImplementation(async () => false)
    const answer = await call()
    noRelease.mockRestore()
    store.mockRestore()
    if (step === 'claim') await db.execute(sql`update idempotency_keys set changed_at = null`)
    return answer
  }

  // A dead process can't say that it has died.
  test('the claim of a dead process ends after 30 s, and the score is made again', async () => {
    const key = newKey()
    await dieWhile('keep', () => score(key))
    await age('20 seconds')
    expect(findOutcome(await score(key))).toBe('409 idempotency_in_progress')
    await age('11 seconds')
    const answer = await score(key)
    expect(answer.statusCode).toBe(200)
    expect((await score(key)).json().request_id).toBe(answer.json().request_id)
  })

  // The log has it: another body must not free the key, or the score is made a second time.
  test('the score of a process that died after it was logged is the only one of its key', async () => {
    const key = newKey()
    const first = await dieWhile('keep', () => score(key))
    await age('31 seconds')
    for (let attempt = 0; attempt < 2; attempt++) {
      const other = await score(key, { income: -1 })
      expect(findOutcome(other)).toBe('422 idempotency_key_reused')
      expectAgain(first, await score(key))
    }
  })

  test('a batch of a process that died after it was logged is never scored again', async () => {
    const key = newKey()
    const first = await dieWhile('keep', () => batch(key))
    await age('31 seconds')
    for (let attempt = 0; attempt < 2; attempt++) {
      expect(findOutcome(await batch(key, -1))).toBe('422 idempotency_key_reused')
      const again = await batch(key)
      expect(findOutcome(again)).toBe('409 idempotency_answer_lost')
      expect(again.json().message).toContain(`GET /v1/scores/${first.headers['x-request-id']}`)
    }
  })

  test('a batch of a process that died before it was logged is scored', async () => {
    const key = newKey()
    await team.done('PATCH', `/v1/deployments/${slug}`, { is_active: false })
    await dieWhile('keep', () => batch(key))
    await team.done('PATCH', `/v1/deployments/${slug}`, { is_active: true })
    expect(findOutcome(await batch(key))).toBe('409 idempotency_in_progress')
    await age('31 seconds')
    const answer = await batch(key)
    expect(answer.statusCode).toBe(200)
    expectAgain(answer, await batch(key))
  })

  test('a change that a process has made before it died is not made again', async () => {
    const key = newKey()
    await dieWhile('keep', () => create(key))
    expect(findOutcome(await create(key))).toBe('409 idempotency_in_progress')
    await age('31 seconds')
    expect(findOutcome(await create(key))).toBe('409 idempotency_answer_lost')
  })

  test('a change that a process has not made before it died is made', async () => {
    const key = newKey()
    await dieWhile('claim', () => create(key))
    await age('31 seconds')
    expect((await create(key)).statusCode).toBe(201)
  })

  // A process that was stopped for a minute goes on as if nothing had happened.
  test('a change is refused once another request has taken over its claim', async () => {
    const key = newKey()
    const claim = spyOnStore('claim').mockImplementationOnce(async (own) => {
      await new IdempotencyStore(db).claim({ ...own, claimId: 'of-another-request' })
      return { held: null }
    })
    const changes = await readChanges(team)
    const late = await create(key)
    claim.mockRestore()
    expect(findOutcome(late)).toBe('409 idempotency_in_progress')
    expect(await readChanges(team)).toBe(changes)
  })

  test('a slow request keeps its claim', async () => {
    const key = newKey()
    await dieWhile('keep', () => score(key))
    const [row] = await queryRows<{ key_hash: Uint8Array; claim_id: string }>(
      db,
      sql`select key_hash, claim_id from idempotency_keys order by claimed_until desc limit 1`,
    )
    if (row === undefined) throw expect.fail('no key is claimed')
    await age('20 seconds')
    await new IdempotencyStore(db).renew([{ keyHash: row.key_hash, claimId: row.claim_id }])
    await age('20 seconds')
    expect(findOutcome(await score(key))).toBe('409 idempotency_in_progress')
  })

  test('an answer is kept for a day, and then the key is as new', async () => {
    const key = newKey()
    const first = (await score(key)).json().request_id
    await age('23 hours 59 minutes')
    expect((await score(key)).json().request_id).toBe(first)
    await age('2 minutes')
    const later = (await score(key, { income: 5 })).json().request_id
    expect(later).not.toBe(first)
  })

  test('maintenance removes what is older than a day, and nothing else', async () => {
    await age('25 hours')
    const key = newKey()
    const first = (await score(key)).json().request_id
    const rooms: boolean[] = []
    const maintain = async (bytesMax: number) => {
      const maintenance = maintainKeys({
        store: new IdempotencyStore(db),
        bytesMax,
        onRoom: (isFull) => void rooms.push(isFull),
        onFailed: (error) => {
          throw error
        },
      })
      await maintenance.runOnce()
    }
    await maintain(1024 ** 3)
    // Room that was freed counts as room, though the table is larger.
    await maintain(8192)
    await maintain(500)
    expect(rooms).toEqual([false, false, true])
    const left = await queryRows(db, sql`select 1 from idempotency_keys`)
    expect(left).toHaveLength(1)
    expect((await score(key)).json().request_id).toBe(first)
  })

  test('without room for more answers requests are executed, and say so; kept ones are given', async () => {
    const key = newKey()
    const first = await score(key)
    service.services.idempotency.isFull = true
    const answers = [await score(newKey()), await score(key)]
    service.services.idempotency.isFull = false
    const kept = answers.map(({ headers }) => headers['idempotency-kept'])
    expect(kept).toEqual(['false', undefined])
    expect(answers[0]?.statusCode).toBe(200)
    expect(answers[1]?.body).toBe(first.body)
  })

  // Whoever reads the database, or a copy of it, must learn no secret and no applicant.
  test('nothing of a request or of its answer is stored in clear', async () => {
    const key = newKey()
    const [secret, applicant] = [await create(key), await score(key, { income: 4711.25 })]
    const [row] = await queryRows<{ text: string }>(
      db,
      sql`select string_agg(concat_ws(' ', encode(key_hash, 'escape'), encode(body_hash, 'escape'),
        claim_id, encode(answer, 'escape')), ' ') as text from idempotency_keys`,
    )
    const stored = row?.text ?? ''
    expect(stored.length).toBeGreaterThan(500)
    const secrets = [key, secret.json().key, secret.json().id, applicant.json().request_id]
    for (const text of [...secrets, '4711.25', 'income', 'score', slug]) {
      expect(stored).not.toContain(text)
    }
  })

  test('an answer above 4 MiB is given once, and says so', async () => {
    const features = Array.from({ length: 220 }, (_, n) => plainFeature(`a rather long name ${n}`))
    const { slug: large } = await team.deploy(card(features))
    const body = { records: Array(1000).fill({}), include_contributions: true }
    const call = { url: `/v1/score/${large}/batch`, token: team.key, body }
    const key = newKey()
    const first = await keyed(service, key, call)
    expect(first.rawPayload.length).toBeGreaterThan(4 * 1024 * 1024)
    expect([first.statusCode, first.headers['idempotency-kept']]).toEqual([200, 'false'])
    const short = { ...call, body: { ...body, records: Array(100).fill({}) } }
    let kept = first
    // While the large answer was made, the store may have been slow, and is left alone.
    const isKept = async () => {
      aheadMs += 5_000
      kept = await keyed(service, key, short)
      return kept.statusCode === 200 && kept.headers['idempotency-kept'] !== 'false'
    }
    await expect.poll(isKept).toBe(true)
    const again = await keyed(service, key, short)
    expect(again.headers['idempotent-replayed']).toBe('true')
    expect(again.rawPayload.equals(kept.rawPayload)).toBe(true)
  })

  // That is what the header is for: the client has no answer, and the score is in the log.
  test('a client that hangs up before its answer finds it when it asks again', async () => {
    const key = newKey()
    if (!service.app.server.listening) await service.app.listen({ host: '127.0.0.1', port: 0 })
    const { port } = service.app.server.address() as AddressInfo
    const { claim } = IdempotencyStore.prototype
    const gate = Promise.withResolvers<void>()
    spyOnStore('claim').mockImplementationOnce(async (own) => {
      const found = await claim.call(new IdempotencyStore(db), own)
      await gate.promise
      return found
    })
    const keep = spyOnStore('keep')
    const stored = await keysStored()
    const body = '{"income":1}'
    const accepted = once(service.app.server, 'connection')
    const socket = connect(port, '127.0.0.1')
    const [connection] = await accepted
    const head = [
      ...[`POST /v1/score/${slug} HTTP/1.1`, 'host: x', `authorization: Bearer ${team.key}`],
      ...['content-type: application/json', `content-length: ${body.length}`],
      `idempotency-key: ${key}`,
    ]
    const ended = new Promise((resolve) => connection.once('close', resolve))
    socket.write(`${head.join('\r\n')}\r\n\r\n${body}`)
    while ((await keysStored()) === stored) await new Promise(setImmediate)
    socket.resetAndDestroy()
    await ended
    gate.resolve()
    while (keep.mock.calls.length === 0) await new Promise(setImmediate)
    expect(await keep.mock.results[0]?.value).toBe(true)
    const again = await score(key)
    expect(again.headers['idempotent-replayed']).toBe('true')
  })
})
