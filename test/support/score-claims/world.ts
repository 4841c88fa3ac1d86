import { AppError } from '../../../src/errors.ts'
import type { ClaimEnd, Claimed } from '../../../src/http/idempotency/begun.ts'
import { ClaimsMode } from '../../../src/http/idempotency/score-claims/claims-mode.ts'
import { loadKeys, readKeys } from '../../../src/http/idempotency/score-claims/key-loader.ts'
import { ScoreClaims } from '../../../src/http/idempotency/score-claims/score-claims.ts'
import { computeDigest, type KeptAnswer } from '../../../src/http/idempotency/sealer.ts'
import { IdempotencyService } from '../../../src/http/idempotency/service.ts'
import { STORE_DEADLINE_MS } from '../../../src/http/idempotency/store.ts'
import { guardStore } from '../../../src/platform/db/guard.ts'
import { FakeDatabase, hex, type Line, type LoggedKey } from './fake-database.ts'
import { FakeRedis, FakeRedisClaims } from './fake-redis.ts'
import { VirtualTime } from './virtual-time.ts'

const caller = {
  kind: 'key',
  keyId: 'key_1',
  teamId: 'team_1',
  scopes: ['score'],
  environment: null,
  rateLimitPerMinute: null,
  expiresAtMs: Number.POSITIVE_INFINITY,
  admitsAddress: null,
} as const
const SECRET = 'secret of the simulation, long enough'
const PAGE = 7
const REMAKE_WAIT_MS = 3_000

/** An execution of a request: a record of its score in a spool. */
interface Execution {
  readonly requestId: string
  readonly atMs: number
  readonly how: string
  /** Null: the process died before it answered. */
  isKept: boolean | null
}

/** What became of the requests with one key. */
export interface History {
  readonly executions: Execution[]
  /** Request ids of answers that were given again. */
  readonly replays: string[]
}

interface SpoolRecord {
  readonly requestId: string
  readonly atMs: number
  readonly key: LoggedKey | null
  readonly keyHash: Uint8Array | null
}

type Process = ReturnType<World['startProcess']>

/** A machine, whose spool outlives its processes. */
export interface Host {
  readonly name: string
  spool: SpoolRecord[]
  process: Process | null
  drainMs: [number, number]
}

/** Several processes of the service with their database and Redis. */
export class World {
  readonly time: VirtualTime
  readonly database: FakeDatabase
  readonly redis: FakeRedis
  readonly hosts: Host[]
  readonly histories = new Map<string, History>()
  readonly events: string[] = []
  longestMs = 0
  /** By outcome. */
  readonly outcomes = new Map<string, number>()
  private requests = 0

  constructor(seed: number, hosts: number) {
    this.time = new VirtualTime(seed)
    this.database = new FakeDatabase(this.time)
    this.redis = new FakeRedis(this.time)
    this.hosts = Array.from({ length: hosts }, (_, at) => ({
      name: `host ${at}`,
      spool: [],
      process: null,
      drainMs: [200, 800],
    }))
    for (const host of this.hosts) host.process = this.startProcess(host)
  }

  note(text: string): void {
    this.events.push(`${((this.time.nowMs - 1_000_000) / 1_000).toFixed(3)} ${text}`)
  }

  /** @param hasRedis false: it is set up without one */
  startProcess(host: Host, hasRedis = true) {
    const { time, database, redis } = this
    const toDatabase: Line = { isCut: false, slowMs: 0, isDead: false }
    const toRedis: Line = { isCut: false, slowMs: 0, isDead: false }
    const clock = { monotonicMs: () => time.nowMs, epochMs: () => time.nowMs }
    const client = new FakeRedisClaims(time, redis, toRedis, {
      open: (run) => hasRedis && mode.connect(run),
      lost: (reason) => mode.disconnect(reason),
    })
    const guarded = <Store extends object>(store: Store) =>
      guardStore(store, { deadlineMs: STORE_DEADLINE_MS, renew: () => undefined })
    const logged = {
      find: (keyHash: Uint8Array) =>
        database.call(toDatabase, () => database.scoreKeys.get(hex(keyHash)) ?? null),
      pages: () => this.readKeyPages(toDatabase),
    }
    const stored = { readPage: (after: Uint8Array) => this.readStoredPage(toDatabase, after) }
    const mode: ClaimsMode = new ClaimsMode({
      isLeftDrained: () => true,
      store: guarded(database.agreementStore(toDatabase)),
      clock,
      hasRedis,
      isDrainedSince: (sinceMs) => {
        const first = host.spool[0]
        const isStored = first === undefined || first.atMs > sinceMs
        return claims.open === 0 && isStored
      },
      look: () => client.look(),
      load: (mark) => loadKeys(client, readKeys({ stored, logged }), mark),
      onFailed: () => undefined,
      onMode: (to, reason) => this.note(`${host.name} is ${to} (${reason})`),
    })
    const claims = new ScoreClaims({
      mode,
      keys: hasRedis ? client : null,
      logged: guarded(logged),
      clock,
      onFailure: () => undefined,
    })
    const service = new IdempotencyService({
      scoreClaims: claims,
      store: guarded(database.idempotencyStore(toDatabase)),
      clock,
      waiting: { mark: () => null, isDrainedTo: () => true },
      room: {
        hasRoom: () => true,
        note: () => undefined,
        hasRoomForScore: () => true,
        noteScore: () => undefined,
      },
      secret: SECRET,
      formerSecret: null,
      onFailure: () => undefined,
    })
    const process = { toDatabase, toRedis, client, mode, claims, service, open: 0 }
    mode.start()
    void this.drain(host, toDatabase)
    return process
  }

  private async *readKeyPages(line: Line) {
    const all = [...this.database.scoreKeys].sort()
    for (let at = 0; at < all.length + PAGE; at += PAGE) {
      const sinceSec = Math.floor(this.time.nowMs / 1_000)
      yield await this.database.call(line, () =>
        // A page is read when it is asked for.
        [...this.database.scoreKeys]
          .sort()
          .slice(at, at + PAGE)
          .map(([key, { requestId, bodyHash }]) => ({
            keyHash: Buffer.from(key, 'hex'),
            bodyHash,
            requestId,
            sinceSec,
          })),
      )
    }
  }

  private readStoredPage(line: Line, after: Uint8Array) {
    return this.database.call(line, () =>
      [...this.database.stored.keys()]
        .sort()
        .filter((key) => after.length === 0 || key > hex(after))
        .slice(0, PAGE)
        .map((key) => ({
          key_hash: Buffer.from(key, 'hex'),
          since_sec: Math.floor(this.time.nowMs / 1_000),
        })),
    )
  }

  private async drain(host: Host, line: Line): Promise<void> {
    const { time, database } = this
    while (!line.isDead) {
      await time.sleep(time.between(...host.drainMs))
      const block = [...host.spool]
      if (block.length === 0) continue
      try {
        await database.call(line, () => {
          for (const { requestId, key, keyHash } of block) {
            database.log.add(requestId)
            if (key !== null && keyHash !== null) database.scoreKeys.set(hex(keyHash), key)
          }
        })
        host.spool = host.spool.filter((record) => !block.includes(record))
      } catch {
        // It is drained again: the log knows a request by its id.
      }
    }
  }

  /** Ends a process at once. */
  kill(host: Host): void {
    const { process } = host
    if (process === null) return
    host.process = null
    process.toDatabase.isDead = true
    process.toRedis.isDead = true
    this.redis.clients.delete(process.client)
    void process.mode.close()
    void process.service.close()
  }

  /** Ends a process once its requests are answered. */
  async stop(host: Host): Promise<void> {
    const { process } = host
    if (process === null) return
    host.process = null
    while (process.open > 0) await this.time.sleep(20)
    await Promise.all([process.service.close(), process.mode.close()])
    process.toRedis.isDead = true
    this.redis.clients.delete(process.client)
    while (host.spool.length > 0) await this.time.sleep(50)
    await process.mode.endLease()
    process.toDatabase.isDead = true
  }

  historyOf(key: string): History {
    const found = this.histories.get(key) ?? { executions: [], replays: [] }
    this.histories.set(key, found)
    return found
  }

  /** Sends a request, and executes it if its process may. @returns its outcome */
  async request(host: Host, key: string): Promise<string> {
    const { process } = host
    if (process === null) return 'refused'
    process.open++
    const beganAtMs = this.time.nowMs
    const requestId = `req_${String(++this.requests).padStart(22, '0')}`
    const outcome = await this.answer(host, process, { key, requestId })
    process.open--
    if (process.toDatabase.isDead && host.process !== process) return 'killed'
    const tookMs = this.time.nowMs - beganAtMs
    if (tookMs > 8_000)
      this.note(
        `${host.name} answers ${key} ${requestId} late: ${outcome} ${tookMs.toFixed(0)} ms ${process.mode.right?.mode}`,
      )
    this.longestMs = Math.max(this.longestMs, tookMs)
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1)
    return outcome
  }

  private async answer(
    host: Host,
    process: Process,
    { key, requestId }: { readonly key: string; readonly requestId: string },
  ): Promise<string> {
    const { time } = this
    const { service } = process
    const history = this.historyOf(key)
    const isDead = () => process.toDatabase.isDead
    const execute = async (how: string, of: Pick<SpoolRecord, 'key' | 'keyHash'>) => {
      await time.sleep(time.between(0.1, 3))
      if (isDead()) await new Promise(() => undefined)
      host.spool.push({ requestId, atMs: time.nowMs, ...of })
      const right = process.mode.right
      const execution = { requestId, atMs: time.nowMs, how, isKept: null as boolean | null }
      history.executions.push(execution)
      this.note(`${host.name} executes ${key} ${requestId} ${how} ${right?.mode} ${right?.mark}`)
      await time.sleep(time.between(0.1, 2))
      if (isDead()) await new Promise(() => undefined)
      return execution
    }
    const asked = {
      caller,
      method: 'POST',
      url: '/v1/score/a',
      key,
      bodyDigest: computeDigest(key),
      score: {
        requestId,
        remake: (firstId: string) => this.remake(host, process, firstId),
        isLogged: (firstId: string) => this.isLogged(host, process, firstId),
      },
    }
    try {
      const early = time.chance(0.5) ? service.beginEarly(asked, asked.score) : null
      // The quota is asked.
      if (early !== null) await time.sleep(time.between(0, 2))
      if (early !== null && time.chance(0.03)) {
        await service.dropEarly(early)
        return 'failed'
      }
      const taken = early === null ? null : service.takeEarly(early, caller.teamId)
      const begun = taken ?? (await service.begin({ ...asked, early }))
      if (begun.kind === 'answered') {
        if (isDead()) return 'killed'
        history.replays.push(begun.answer.requestId)
        return 'replayed'
      }
      const end = (claimed: Claimed, how: ClaimEnd) =>
        new Promise<boolean>((resolve) => {
          service.end(claimed, caller.teamId, how, (isKept) => {
            if (!isDead()) resolve(isKept)
          })
        })
      if (begun.kind !== 'not-kept' && time.chance(0.03)) {
        await end(begun, 'failed')
        return 'failed'
      }
      let how: string = begun.kind
      let logged: { keyHash: Uint8Array; bodyHash: Uint8Array } | null = null
      if (begun.kind === 'claimed-score') {
        logged = begun.claim.logged
        how = Number.isFinite(begun.claim.sureUntilMs) ? 'in Redis' : 'unsure'
      }
      const execution = await execute(how, {
        keyHash: logged?.keyHash ?? null,
        key: logged === null ? null : { requestId, bodyHash: logged.bodyHash },
      })
      execution.isKept =
        begun.kind !== 'not-kept' && (await end(begun, () => makeAnswer(requestId)))
      return execution.isKept ? 'kept' : 'not kept'
    } catch (error) {
      if (error instanceof AppError) return error.code
      return 'error'
    }
  }

  private async remake(host: Host, process: Process, firstId: string): Promise<KeptAnswer | null> {
    const untilMs = this.time.nowMs + REMAKE_WAIT_MS
    const overdue = this.time.sleep(REMAKE_WAIT_MS).then(() => null)
    return Promise.race([this.findAnswer(host, process, { firstId, untilMs }), overdue])
  }

  private async findAnswer(
    host: Host,
    process: Process,
    { firstId, untilMs }: { readonly firstId: string; readonly untilMs: number },
  ): Promise<KeptAnswer | null> {
    do {
      if (await this.isLogged(host, process, firstId).catch(() => false)) return makeAnswer(firstId)
      await this.time.sleep(100)
    } while (this.time.nowMs < untilMs)
    return null
  }

  private async isLogged(host: Host, process: Process, firstId: string): Promise<boolean> {
    if (host.spool.some(({ requestId }) => requestId === firstId)) return true
    const { database } = this
    const overdue = this.time.sleep(STORE_DEADLINE_MS).then(() => {
      throw new Error('the database does not answer')
    })
    const call = database.call(process.toDatabase, () => database.log.has(firstId))
    return Promise.race([call, overdue])
  }
}

function makeAnswer(requestId: string): KeptAnswer {
  const body = Buffer.from('{}')
  return { status: 200, contentType: null, cacheControl: null, requestId, body }
}
