import { eq, ne, sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { TokenResult } from '../../../../schemas/auth.ts'
import type { Database } from '../../../../src/platform/db/client.ts'
import { auditLog } from '../../../../src/tables/audit.ts'
import { refreshTokens, users } from '../../../../src/tables/auth.ts'
import {
  expectSuccess,
  findOutcome,
  formatJson,
  formatRefusal,
} from '../../../support/expect/answers.ts'
import { type Backend, backends } from '../../../support/start/databases.ts'
import { seeded, withDatabase } from '../../../support/start/seeded-database.ts'
import { OWNER, TestService } from '../../../support/start/service.ts'

const REFRESH = '/api/auth/refresh'
const GRACE_MS = 10_000
const DAY_MS = 24 * 60 * 60 * 1000
const REFUSED = {
  status: 401,
  error: 'invalid_refresh_token',
  message: 'the refresh token is not in force: sign in again',
}

const tenTimes = <T>(work: (index: number) => Promise<T>) =>
  Promise.all(Array.from({ length: 10 }, (_, index) => work(index)))

/** A service whose wall clock the test moves. */
class Sessions {
  readonly service: TestService
  private readonly clock: { nowMs: number }

  private constructor(service: TestService, clock: { nowMs: number }) {
    this.service = service
    this.clock = clock
  }

  static async start(backend: Backend, nowMs = Date.now()): Promise<Sessions> {
    const clock = { nowMs, epochMs: () => clock.nowMs, monotonicMs: () => performance.now() }
    return new Sessions(await TestService.start(backend, { clock }), clock)
  }

  passMs(ms: number): void {
    this.clock.nowMs += ms
  }

  /** @returns the refresh token of a new session */
  async login(): Promise<string> {
    return formatJson(await this.service.call({ url: '/api/auth/login', body: OWNER }))
      .refresh_token
  }

  send(token: unknown) {
    return this.service.call({ url: REFRESH, body: { refresh_token: token } })
  }

  async refresh(token: string) {
    return expectSuccess(await this.send(token), TokenResult)
  }

  async outcome(token: string): Promise<string> {
    return findOutcome(await this.send(token))
  }

  /** Ends the service, and starts it again on what `change` made of its database. */
  async restart(backend: Backend, change: (db: Database) => PromiseLike<unknown>) {
    const rest = await this.readAfterEnd(async (db) => void (await change(db)))
    return Sessions.start({ name: backend.name, create: async () => rest }, this.clock.nowMs)
  }

  /** Ends the service, because the embedded database is nobody else's while it runs. */
  private async readAfterEnd(work: (db: Database) => Promise<void>) {
    await this.service.app.close()
    await this.service.services.close()
    await withDatabase(this.service.config, work)
    const { databaseUrl, dataDir } = this.service.config
    return { databaseUrl, dataDir, drop: async () => {} }
  }

  /** What the service has written; it has ended then. */
  async written() {
    let tokens: Array<typeof refreshTokens.$inferSelect> = []
    let audit: Array<typeof auditLog.$inferSelect> = []
    await this.readAfterEnd(async (db) => {
      tokens = await db.select().from(refreshTokens)
      // Without those of sign-ins, which are older than any end.
      audit = await db.select().from(auditLog).where(ne(auditLog.action, 'session.sign_in'))
    })
    return { tokens, audit }
  }
}

async function startForTest(backend: Backend): Promise<Sessions> {
  const sessions = await Sessions.start(backend)
  onTestFinished(() => sessions.service.close())
  return sessions
}

describe.each(backends)('on $name', (backend) => {
  let sessions: Sessions

  beforeAll(async () => {
    sessions = await Sessions.start(backend)
  })
  afterAll(() => sessions.service.close())

  test('a refresh answers as a login does, and forbids storing it', async () => {
    const token = await sessions.login()
    const response = await sessions.send(token)
    const body = expectSuccess(response, TokenResult)
    expect(body).toEqual({
      access_token: expect.any(String),
      refresh_token: expect.stringMatching(/^[\w-]{43}$/),
      expires_in: 3600,
      token_type: 'Bearer',
    })
    expect(body.refresh_token).not.toBe(token)
    expect(response.headers['cache-control']).toBe('no-store')
    const keys = { method: 'GET', url: '/v1/keys', token: body.access_token } as const
    expect(findOutcome(await sessions.service.call(keys))).toBe('200')
  })

  test('a session lives on as long as each successor is used in its turn', async () => {
    const seen = [await sessions.login()]
    for (let n = 0; n < 20; n++) {
      sessions.passMs(DAY_MS)
      seen.push((await sessions.refresh(seen.at(-1) ?? '')).refresh_token)
    }
    expect(new Set(seen).size).toBe(21)
  })

  // A phone loses the answer in a tunnel, a browser has two tabs: neither is a thief.
  test('a used token presented again within 10 s gets the same successor, which is in force', async () => {
    const first = await sessions.login()
    const { refresh_token: successor } = await sessions.refresh(first)
    for (const ms of [0, 1, GRACE_MS - 1]) {
      sessions.passMs(ms)
      const again = await sessions.refresh(first)
      expect(again.refresh_token).toBe(successor)
    }
    expect(await sessions.outcome(successor)).toBe('200')
  })

  // The successor is with whoever used it; giving it out a second time would let a thief in unseen.
  test('a used token whose successor was used ends the session, however soon it comes', async () => {
    const first = await sessions.login()
    const { refresh_token: second } = await sessions.refresh(first)
    const { refresh_token: third } = await sessions.refresh(second)
    expect(formatRefusal(await sessions.send(first))).toEqual(REFUSED)
    for (const token of [third, second, first]) {
      expect(formatRefusal(await sessions.send(token))).toEqual(REFUSED)
    }
  })

  test('a used token presented after 10 s ends the session, though its successor is unused', async () => {
    const first = await sessions.login()
    const { refresh_token: second } = await sessions.refresh(first)
    sessions.passMs(GRACE_MS + 1)
    expect(formatRefusal(await sessions.send(first))).toEqual(REFUSED)
    expect(formatRefusal(await sessions.send(second))).toEqual(REFUSED)
  })

  test('the grace is that of the token, not renewed by using it', async () => {
    const first = await sessions.login()
    await sessions.refresh(first)
    sessions.passMs(GRACE_MS - 1)
    await sessions.refresh(first)
    sessions.passMs(2)
    expect(formatRefusal(await sessions.send(first))).toEqual(REFUSED)
  })

  // If one stolen laptop ended all sessions, a thief could lock the user out.
  test('the end of one session leaves the others of the user alone', async () => {
    const [ended, other] = [await sessions.login(), await sessions.login()]
    await sessions.refresh(ended)
    sessions.passMs(GRACE_MS + 1)
    expect(await sessions.outcome(ended)).toBe('401 invalid_refresh_token')
    expect(await sessions.outcome(other)).toBe('200')
  })

  test('a token ends 30 days after it was issued, to the millisecond', async () => {
    const [early, late] = [await sessions.login(), await sessions.login()]
    sessions.passMs(30 * DAY_MS - 1)
    expect(await sessions.outcome(early)).toBe('200')
    sessions.passMs(1)
    expect(formatRefusal(await sessions.send(late))).toEqual(REFUSED)
  })

  test.each([
    ['unknown', 'A'.repeat(43)],
    ['empty', ''],
    ['cut', 'A'.repeat(42)],
    ['too long', 'A'.repeat(44)],
    ['of another alphabet', `${'A'.repeat(42)}+`],
    ['with a NUL', `${'A'.repeat(42)}\0`],
    ['with half a character', `${'A'.repeat(42)}\ud800`],
    ['of 16,000 characters', 'A'.repeat(16_000)],
    ['an access token', 'eyJhbGciOiJIUzI1NiJ9.e30.x'],
  ])('a token that is %s gets the one answer', async (_, token) => {
    const response = await sessions.send(token)
    expect(formatRefusal(response)).toEqual(REFUSED)
    expect(response.headers['cache-control']).toBe('no-store')
  })

  test.each([
    ['no token', {}, 'refresh_token'],
    ['null for a token', { refresh_token: null }, 'refresh_token'],
    ['a number for a token', { refresh_token: 1 }, 'refresh_token'],
    ['a list for a token', { refresh_token: ['A'] }, 'refresh_token'],
    ['an unknown field', { refresh_token: 'A', grant_type: 'refresh_token' }, 'grant_type'],
  ])('a body with %s is 400 and says where', async (_, body, path) => {
    const refusal = formatRefusal(await sessions.service.call({ url: REFRESH, body }))
    expect(refusal).toMatchObject({ status: 400, error: 'invalid_request' })
    expect(refusal.details?.[0]?.path).toBe(path)
  })

  test('a body above 16 KiB is 413', async () => {
    const response = await sessions.send('A'.repeat(16 * 1024))
    expect(findOutcome(response)).toBe('413 payload_too_large')
  })

  // Two winners would be two sessions of which neither knows the other.
  test('20 clients that refresh one token at once get the same successor', async () => {
    const own = await startForTest(backend)
    const token = await own.login()
    await tenTimes(() => own.login())
    const all = await Promise.all(Array.from({ length: 20 }, () => own.refresh(token)))
    expect(new Set(all.map((body) => body.refresh_token)).size).toBe(1)
    const { tokens } = await own.written()
    expect(tokens.filter(({ usedAt }) => usedAt !== null)).toHaveLength(1)
    expect(tokens).toHaveLength(1 + 10 + 1)
  })

  // A token added to a family while it ends would be the thief's, and live for ever.
  test('after the end of a session none of its tokens is valid, whatever ran at the same time', async () => {
    const own = await startForTest(backend)
    const racing = await tenTimes(async () => {
      const first = await own.login()
      return { first, second: (await own.refresh(first)).refresh_token }
    })
    own.passMs(GRACE_MS + 1)
    // In each session a replay ends it while others go on with it.
    const outcomes = await Promise.all(
      racing.flatMap(({ first, second }) => [
        own.outcome(second),
        ...[first, first].map((token) => own.outcome(token)),
        own.outcome(second),
      ]),
    )
    const replays = outcomes.filter((_, index) => [1, 2].includes(index % 4))
    expect(new Set(replays)).toEqual(new Set(['401 invalid_refresh_token']))
    const { tokens, audit } = await own.written()
    expect(tokens.filter(({ revokedAt }) => revokedAt === null)).toEqual([])
    expect(audit.map(({ action }) => action)).toEqual(Array(10).fill('session.end_family'))
    expect(new Set(audit.map(({ subject }) => subject)).size).toBe(10)
  })

  // A user whose session ended must be able to learn why.
  test('the end of a session has one audit record, which holds no token', async () => {
    const own = await startForTest(backend)
    const first = await own.login()
    const { refresh_token: second } = await own.refresh(first)
    own.passMs(GRACE_MS + 1)
    for (let n = 0; n < 3; n++) expect(await own.outcome(first)).toBe('401 invalid_refresh_token')
    const { tokens, audit } = await own.written()
    const { userId, familyId } = tokens[0] ?? expect.fail('no token was written')
    expect(audit).toEqual([
      expect.objectContaining({
        actor: userId,
        action: 'session.end_family',
        subject: familyId,
        before: null,
        after: null,
        reason: 'a refresh token that was used before was presented again',
      }),
    ])
    for (const token of [first, second]) {
      expect(JSON.stringify([tokens, audit])).not.toContain(token)
    }
  })

  test("a login deletes the user's tokens that have expired, and no others", async () => {
    const own = await startForTest(backend)
    const expired = await own.login()
    own.passMs(DAY_MS)
    await own.login()
    own.passMs(29 * DAY_MS)
    await own.login()
    expect(await own.outcome(expired)).toBe('401 invalid_refresh_token')
    const { tokens } = await own.written()
    expect(tokens).toHaveLength(2)
  })

  // A dismissed user must not come back with the token on their phone.
  test('a removed user gets no token, within the grace neither', async () => {
    const own = await startForTest(backend)
    const [used, unused] = [await own.login(), await own.login()]
    await own.refresh(used)
    const later = await own.restart(backend, (db) => db.delete(users))
    onTestFinished(() => later.service.close())
    for (const token of [used, unused]) {
      expect(formatRefusal(await later.send(token))).toEqual(REFUSED)
    }
  })

  test('a changed role is in the next access token', async () => {
    const own = await startForTest(backend)
    const token = await own.login()
    const later = await own.restart(backend, (db) => db.update(users).set({ role: 'viewer' }))
    onTestFinished(() => later.service.close())
    const { access_token: access } = await later.refresh(token)
    const claims = JSON.parse(Buffer.from(access.split('.')[1] ?? '', 'base64url').toString())
    expect(claims.role).toBe('viewer')
    const call = { url: '/v1/keys', token: access, body: { name: 'k' } }
    expect(findOutcome(await later.service.call(call))).toBe('403 insufficient_role')
  })

  // The successor comes from the secret, not from the memory of a process.
  test('the grace outlives the process', async () => {
    const own = await startForTest(backend)
    const token = await own.login()
    const { refresh_token: successor } = await own.refresh(token)
    const later = await own.restart(backend, async () => undefined)
    onTestFinished(() => later.service.close())
    expect((await later.refresh(token)).refresh_token).toBe(successor)
  })
})

// Only PostgreSQL can be changed behind the back of a service that runs, as another replica would.
const shared = backends.filter(({ name }) => name === 'PostgreSQL')

test.each(shared)(
  'on $name a changed role counts from the next refresh on, whatever is cached',
  async (backend) => {
    const own = await startForTest(backend)
    const login = await own.service.call({ url: '/api/auth/login', body: OWNER })
    const ask = async (token: string) =>
      findOutcome(await own.service.call({ url: '/v1/keys', token, body: { name: 'k' } }))
    expect(await ask(formatJson(login).access_token), 'the role is cached').toBe('201')
    await withDatabase(own.service.config, (db) =>
      db.update(users).set({ role: 'viewer' }).where(eq(users.email, OWNER.email)),
    )
    const { access_token: access } = await own.refresh(formatJson(login).refresh_token)
    expect(await ask(access)).toBe('403 insufficient_role')
  },
)

/** Lets a token be added only while nobody holds the gate. */
async function addGate(db: Database): Promise<void> {
  await db.execute(sql`
    create function pass_gate() returns trigger language plpgsql as $$
      begin perform pg_advisory_xact_lock_shared(1); return new; end $$`)
  await db.execute(sql`
    create trigger gate before insert on refresh_tokens for each row execute function pass_gate()`)
}

/** Waits until so many statements on the database wait for a lock. */
async function untilWaiting(db: Database, count: number): Promise<void> {
  const isWaiting = sql`wait_event_type = 'Lock' and datname = current_database()`
  for (;;) {
    const waiting = await db.$count(sql`pg_stat_activity`, isWaiting)
    if (waiting === count) return
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

// The end of a session can't see a token that is just being added; it has to wait for it.
test.each(shared)(
  'on $name a session that ends while a token is added to it ends with that token',
  async (backend) => {
    const own = await startForTest(seeded(backend, addGate))
    const first = await own.login()
    const { refresh_token: second } = await own.refresh(first)
    own.passMs(GRACE_MS + 1)
    const [replay, live] = await withDatabase(own.service.config, (db) =>
      db.transaction(async (gate) => {
        await gate.execute(sql`select pg_advisory_xact_lock(1)`)
        const calls = await db.transaction(async (team) => {
          await team.execute(sql`select from teams for no key update`)
          const ending = own.outcome(first)
          await untilWaiting(db, 1)
          const adding = own.outcome(second)
          await untilWaiting(db, 2)
          return [ending, adding]
        })
        await untilWaiting(db, 2)
        return calls
      }),
    )
    expect([await replay, await live]).toEqual(['401 invalid_refresh_token', '200'])
    const { tokens } = await own.written()
    expect(tokens).toHaveLength(3)
    expect(tokens.filter(({ revokedAt }) => revokedAt === null)).toEqual([])
  },
)
