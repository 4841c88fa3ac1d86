import { eq, sql } from 'drizzle-orm'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { AppError } from '../../../../src/errors.ts'
import type { ClaimEnd } from '../../../../src/http/idempotency/begun.ts'
import { ScoreClaims } from '../../../../src/http/idempotency/score-claims/score-claims.ts'
import type { KeptAnswer } from '../../../../src/http/idempotency/sealer.ts'
import { IdempotencyService } from '../../../../src/http/idempotency/service.ts'
import { IdempotencyStore } from '../../../../src/http/idempotency/store.ts'
import { auditRecord } from '../../../../src/identity/audit/record.ts'
import { insertAuditRecord } from '../../../../src/identity/audit/writer.ts'
import { systemClock } from '../../../../src/platform/clock.ts'
import { auditLog } from '../../../../src/tables/audit.ts'
import { newKey } from '../../../support/scenarios/idempotency.ts'
import { backends } from '../../../support/start/databases.ts'
import { databaseForSuite } from '../../../support/start/seeded-database.ts'
import { insertTeam } from '../../../support/start/users.ts'

/** Where a process dies, or what of its store fails. */
const FAULTS = [
  'none',
  'none',
  'dies claimed',
  'dies changed',
  'keep',
  'keep done',
  'release',
] as const

interface Attempt {
  readonly process: 0 | 1
  readonly body: 'same' | 'other'
  readonly isRefused: boolean
  readonly fault: (typeof FAULTS)[number]
}

interface ProcessSecrets {
  readonly secret: string
  readonly formerSecret: string | null
}

const OLD = 'secret of the tests, long enough'
const NEW = 'another secret, of the same length'
const process = (secret: string, formerSecret: string | null = null) => ({ secret, formerSecret })

/** What two replicas have at once while the secret is rotated. */
const SECRETS = [
  { name: 'one secret', processes: [process(OLD), process(OLD)] },
  { name: 'the old one, and both', processes: [process(OLD), process(NEW, OLD)] },
  { name: 'both, in two orders', processes: [process(OLD, NEW), process(NEW, OLD)] },
  { name: 'both, and the new one', processes: [process(NEW, OLD), process(NEW)] },
] as const

const NONE_WAIT = { mark: () => null, isDrainedTo: () => true }

type Outcome = 'executed' | 'replayed' | 'refused' | 'died' | string

const attempt: fc.Arbitrary<Attempt> = fc.record({
  process: fc.constantFrom(0, 1),
  body: fc.constantFrom('same', 'same', 'same', 'other'),
  isRefused: fc.constantFrom(false, false, true),
  fault: fc.constantFrom(...FAULTS),
})

describe.each(backends)('on $name', (backend) => {
  const handle = databaseForSuite(backend)
  let teamId: string

  beforeAll(async () => {
    teamId = await insertTeam(handle.db)
  })

  /** Requests with one key, each to one of two processes. */
  class Requests {
    readonly key = newKey()
    private readonly scheduler: fc.Scheduler
    private readonly faults = new Map<string, Attempt['fault']>()
    private readonly processes: readonly IdempotencyService[]

    /** @param secrets of the two processes */
    constructor(scheduler: fc.Scheduler, secrets: readonly ProcessSecrets[]) {
      this.scheduler = scheduler
      this.processes = secrets.map((one) => this.process(one))
    }

    /** One request as the plugin runs it, up to the moment when its process dies. */
    async run({ process, body, isRefused, fault }: Attempt): Promise<Outcome> {
      const service = this.processes[process] ?? expect.fail()
      const caller = { kind: 'user', userId: 'usr_1', teamId, role: 'owner' } as const
      const request = { caller, method: 'POST', url: '/v1/keys', key: this.key }
      try {
        const begun = await service.begin({ ...request, bodyDigest: Buffer.from(body) })
        if (begun.kind === 'answered') return `replayed ${begun.answer.requestId}`
        if (begun.kind === 'not-kept') return 'not kept'
        if (begun.kind === 'claimed-score') return expect.fail('it asks for no score')
        const { claim } = begun
        const end = (how: ClaimEnd) =>
          new Promise<boolean>((resolve) => service.end(begun, teamId, how, resolve))
        this.faults.set(claim.claimId, fault)
        if (fault === 'dies claimed') return 'died'
        await this.turn()
        if (isRefused) {
          await end('failed')
          return 'refused'
        }
        try {
          await this.change({ userId: 'usr_1', teamId, claim })
        } catch (error) {
          await end('failed')
          throw error
        }
        if (fault === 'dies changed') return 'died'
        await end(() => answerFrom(claim.claimId))
        return `executed ${claim.claimId}`
      } catch (error) {
        if (error instanceof AppError) return error.code
        throw error
      }
    }

    /** More time than a claim has without being renewed. */
    async passTime(): Promise<void> {
      await this.turn()
      await handle.db.execute(
        sql`update idempotency_keys set claimed_until = claimed_until - interval '31 seconds'`,
      )
    }

    async changes(): Promise<number> {
      return (await handle.db.select().from(auditLog).where(eq(auditLog.subject, this.key))).length
    }

    private change(actor: Parameters<typeof auditRecord>[0]): Promise<void> {
      const record = auditRecord(actor, { action: 'key.create', subject: this.key }, Date.now())
      return handle.db.transaction((tx) => insertAuditRecord(tx, record))
    }

    private turn(): Promise<void> {
      return this.scheduler.schedule(Promise.resolve())
    }

    private process({ secret, formerSecret }: ProcessSecrets): IdempotencyService {
      const store = new IdempotencyStore(handle.db)
      const isTo = (claimId: string, ...faults: string[]) =>
        faults.includes(this.faults.get(claimId) ?? 'none')
      const fail = () => {
        throw new AppError('unavailable', 'the database is away')
      }
      const faulty: Pick<IdempotencyStore, 'claim' | 'keep' | 'release' | 'renew'> = {
        claim: (claim) => this.turn().then(() => store.claim(claim)),
        keep: async (claim, answer) => {
          await this.turn()
          if (isTo(claim.claimId, 'keep')) fail()
          const isKept = await store.keep(claim, answer)
          return isTo(claim.claimId, 'keep done') ? fail() : isKept
        },
        release: async (claim) => {
          await this.turn()
          if (isTo(claim.claimId, 'release')) fail()
          await store.release(claim)
        },
        renew: (claims) => store.renew(claims),
      }
      const service = new IdempotencyService({
        store: faulty,
        scoreClaims: NO_SCORES,
        room: ROOM,
        clock: systemClock,
        waiting: NONE_WAIT,
        secret,
        formerSecret,
        onFailure: () => {},
      })
      void service.close()
      return service
    }
  }

  // A second rollback undoes the first one; a second key is a secret that nobody knows of.
  test.each(SECRETS)('whatever happens when, a change is made once ($name)', async (secrets) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(attempt, { minLength: 2, maxLength: 6 }),
        fc.nat(2),
        fc.scheduler(),
        async (attempts, pauses, scheduler) => {
          const requests = new Requests(scheduler, secrets.processes)
          const running = attempts.map((one) => requests.run(one))
          for (let pause = 0; pause < pauses; pause++) running.push(passed(requests.passTime()))
          const outcomes = await scheduler.waitFor(Promise.all(running))

          expect(await requests.changes()).toBeLessThanOrEqual(1)
          const executed = listNames(outcomes, 'executed')
          expect(executed.length).toBeLessThanOrEqual(1)
          const replayed = new Set(listNames(outcomes, 'replayed'))
          expect(replayed.size).toBeLessThanOrEqual(1)

          // Once everything has ended, the key tells whether the change was made.
          await scheduler.waitFor(requests.passTime())
          const last = await scheduler.waitFor(requests.run(PLAIN))
          const isMade = (await requests.changes()) === 1
          expect(isMade).toBe(true)
          expect(last).toMatch(/^(executed|replayed|idempotency_(answer_lost|key_reused)\b)/)
          if (executed.length + replayed.size > 0) expect(last).not.toMatch(/^executed/)
        },
      ),
      { numRuns: 40 },
    )
  })

  test.each(SECRETS)(
    'without faults all get one answer or shall come again ($name)',
    async ({ processes }) => {
      await fc.assert(
        fc.asyncProperty(fc.integer({ min: 2, max: 8 }), fc.scheduler(), async (n, scheduler) => {
          const requests = new Requests(scheduler, processes)
          const all = Array.from(
            { length: n },
            (_, at) => ({ ...PLAIN, process: at % 2 }) as Attempt,
          )
          const running = all.map((one) => requests.run(one))
          const outcomes = await scheduler.waitFor(Promise.all(running))
          expect(await requests.changes()).toBe(1)
          const [executed, ...others] = listNames(outcomes, 'executed')
          expect(others).toEqual([])
          for (const name of listNames(outcomes, 'replayed')) expect(name).toBe(executed)
          const rest = outcomes.filter((outcome) => !/^(executed|replayed)/.test(outcome))
          expect(rest.every((outcome) => outcome === 'idempotency_in_progress')).toBe(true)
          const last = await scheduler.waitFor(requests.run(PLAIN))
          expect(last).toBe(`replayed ${executed}`)
        }),
        { numRuns: 20 },
      )
    },
  )
})

const ROOM = {
  hasRoom: () => true,
  note: () => undefined,
  hasRoomForScore: () => true,
  noteScore: () => undefined,
}
const NO_SCORES = new ScoreClaims({
  mode: {
    right: null,
    waitForRight: () => expect.fail('no score was asked for'),
    lose: () => undefined,
    confirm: () => Promise.resolve(false),
    hasFastKeys: false,
    isInRedis: false,
  },
  keys: null,
  clock: systemClock,
  logged: { find: () => expect.fail('no score was asked for') },
  onFailure: () => undefined,
})

const PLAIN: Attempt = { process: 0, body: 'same', isRefused: false, fault: 'none' }

function answerFrom(requestId: string): KeptAnswer {
  const body = Buffer.from(requestId)
  return { status: 201, contentType: null, cacheControl: null, requestId, body }
}

async function passed(pause: Promise<void>): Promise<Outcome> {
  await pause
  return 'time'
}

/** Ids of the requests with this outcome. */
function listNames(outcomes: readonly Outcome[], kind: 'executed' | 'replayed'): string[] {
  const own = outcomes.filter((outcome) => outcome.startsWith(kind))
  return own.map((outcome) => outcome.slice(kind.length + 1))
}
