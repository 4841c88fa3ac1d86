import type { OnClaimReply } from '../../../src/http/idempotency/score-claims/redis-claims.ts'
import type {
  ClaimChange,
  HeldClaim,
  LoadedKey,
  ScoreClaim,
} from '../../../src/http/idempotency/score-claims/score-claim.ts'
import { randomBase62 } from '../../../src/platform/ids.ts'
import { hex, type Line } from './fake-database.ts'
import type { VirtualTime } from './virtual-time.ts'

type Held = Omit<HeldClaim, 'ageMs'> & { readonly sinceMs: number }

interface Snapshot {
  readonly mark: string
  readonly keys: ReadonlyMap<string, Held>
}

interface ConnectionListener {
  readonly open: (run: string) => void
  readonly lost: (reason: string) => void
}

const DEADLINE_MS = 1_000
const USUAL_MS = 1
const LATE_MS = 200

/** What the scripts of the claims do, in a server that can lose what it has. */
export class FakeRedis {
  run = randomBase62(8)
  isAway = false
  mark = ''
  keys = new Map<string, Held>()
  readonly clients = new Set<FakeRedisClaims>()
  private readonly time: VirtualTime

  constructor(time: VirtualTime) {
    this.time = time
  }

  snapshot(): Snapshot {
    return { mark: this.mark, keys: new Map(this.keys) }
  }

  /** Ends all connections. */
  restart({ mark, keys }: Snapshot): void {
    this.run = randomBase62(8)
    this.mark = mark
    this.keys = new Map(keys)
    this.dropAll()
  }

  dropAll(): void {
    for (const client of this.clients) client.drop()
  }

  flush(): void {
    this.mark = ''
    this.keys.clear()
  }

  claim({ keyHash, bodyTag, requestId }: ScoreClaim, state: 'claimed' | 'stored') {
    const held = this.keys.get(hex(keyHash))
    const { mark, time } = this
    if (held === undefined) {
      this.keys.set(hex(keyHash), { state, bodyTag, requestId, sinceMs: time.nowMs })
    }
    const isOwn = held?.requestId === requestId && held.state === state
    if (held === undefined || isOwn) return { held: null, mark }
    // The clock of the scripts counts seconds.
    const ageMs = Math.floor(time.nowMs / 1_000) * 1_000 - Math.floor(held.sinceMs / 1_000) * 1_000
    return { held: { ...held, ageMs }, mark }
  }

  change({ keyHash, requestId }: ScoreClaim, change: ClaimChange): boolean {
    const key = hex(keyHash)
    const held = this.keys.get(key)
    if (held === undefined || held.requestId !== requestId) return false
    if (change === 'free') this.keys.delete(key)
    else if (change === 'logged') this.keys.set(key, { ...held, state: 'logged' })
    else {
      const { bodyTag, requestId: id } = change
      this.keys.set(key, { state: 'claimed', bodyTag, requestId: id, sinceMs: this.time.nowMs })
    }
    return true
  }

  load(mark: string, keys: readonly LoadedKey[]): boolean {
    if (this.mark !== `loading ${mark}`) return false
    for (const { keyHash, state, bodyTag, requestId, sinceSec } of keys) {
      const held = this.keys.get(hex(keyHash))
      const sinceMs = sinceSec * 1_000
      const stays =
        held?.state === 'claimed'
          ? !LOAD_REPLACES_CLAIMS
          : held !== undefined && held.sinceMs >= sinceMs
      if (stays) continue
      this.keys.set(hex(keyHash), { state, bodyTag, requestId, sinceMs })
    }
    return true
  }

  endLoading(mark: string): boolean {
    if (this.mark !== `loading ${mark}`) return false
    this.mark = mark
    return true
  }
}

/** As `load.lua` does. */
const LOAD_REPLACES_CLAIMS = true

/** A process's connection, with the interface of `RedisClaims`. */
export class FakeRedisClaims {
  private run: string | null = null
  /** Counts connections; what a lost one has sent may still arrive. */
  private epoch = 0
  private unnoted: ScoreClaim[] = []
  private notes: { readonly claim: ScoreClaim; readonly onSent: () => void }[] = []
  private pauseMs = 20
  private isReady = false
  private readonly time: VirtualTime
  private readonly server: FakeRedis
  private readonly line: Line
  private readonly on: ConnectionListener

  constructor(time: VirtualTime, server: FakeRedis, line: Line, on: ConnectionListener) {
    this.time = time
    this.server = server
    this.line = line
    this.on = on
    server.clients.add(this)
    this.connectLater()
  }

  private connectLater(): void {
    const { time, line, server } = this
    const inMs = this.pauseMs * time.between(0.5, 1)
    this.pauseMs = Math.min(this.pauseMs * 2, 1_000)
    time.at(time.nowMs + inMs, () => {
      if (line.isDead) return
      if (line.isCut || server.isAway) this.connectLater()
      else {
        this.isReady = true
        void this.greet()
      }
    })
  }

  private async greet(): Promise<void> {
    try {
      const run = await this.send(() => this.server.run)
      if (!this.isReady || this.run === run) return
      this.pauseMs = 20
      this.run = run
      const { unnoted } = this
      this.unnoted = []
      this.note(unnoted)
      this.on.open(run)
    } catch {
      this.lose('it does not answer')
    }
  }

  private lose(reason: string): void {
    if (this.line.isDead) return
    this.run = null
    this.on.lost(reason)
  }

  /** The connection ends, at once or as soon as that is noticed. */
  drop(): void {
    if (!this.isReady || this.line.isDead) return
    this.isReady = false
    this.epoch++
    this.lose('the connection was closed')
    this.connectLater()
  }

  async look(): Promise<void> {
    if (this.isReady) await this.greet()
  }

  /** A call is given up after a second; then its effect may come late, or not at all. */
  private send<T>(effect: () => T): Promise<T> {
    const { time, server, line } = this
    return new Promise((resolve, reject) => {
      if (line.isDead) return
      const { epoch } = this
      const sentTo = server.run
      const fail = () => {
        if (this.epoch === epoch) this.drop()
        reject(new Error('it does not answer'))
      }
      if (!this.isReady) {
        time.at(time.nowMs + DEADLINE_MS, fail)
        return
      }
      const way = () =>
        time.between(0.1, USUAL_MS) + (time.chance(0.8) ? 0 : time.between(0, line.slowMs))
      const deadline = time.at(time.nowMs + DEADLINE_MS, fail)
      const arrive = (tries: number) => {
        if (server.run !== sentTo) return
        if (line.isCut || server.isAway) {
          // What was sent is sent again by the network, for a while.
          if (tries < 3) time.at(time.nowMs + 300 * 2 ** tries, () => arrive(tries + 1))
          return
        }
        const value = effect()
        time.at(time.nowMs + way(), () => {
          if (line.isCut || line.isDead || this.epoch !== epoch) return
          deadline.isCleared = true
          resolve(value)
        })
      }
      time.at(time.nowMs + way(), () => arrive(0))
    })
  }

  claim(claim: ScoreClaim, state: 'claimed' | 'stored') {
    return this.send(() => this.server.claim(claim, state))
  }

  /** Some go over another connection, which may lose them, or bring them late. */
  claimEarly(claim: ScoreClaim, onReply: OnClaimReply): void {
    const { time, server, line } = this
    if (time.chance(0.9)) {
      this.send(() => server.claim(claim, 'claimed')).then(onReply, () => onReply(null))
      return
    }
    const { run } = server
    if (time.chance(0.5)) {
      time.at(time.nowMs + time.between(0, LATE_MS), () => {
        if (server.run === run && !server.isAway) server.claim(claim, 'claimed')
      })
    }
    time.at(time.nowMs + time.between(0, LATE_MS), () => {
      if (!line.isDead) onReply(null)
    })
  }

  change(claim: ScoreClaim, change: ClaimChange): Promise<boolean> {
    return this.send(() => this.server.change(claim, change))
  }

  noteLogged(claim: ScoreClaim, onSent: () => void): void {
    this.notes.push({ claim, onSent })
    if (this.notes.length > 1) return
    queueMicrotask(() => {
      const { notes } = this
      this.notes = []
      this.note(notes.map((note) => note.claim))
      for (const note of notes) note.onSent()
    })
  }

  private note(claims: readonly ScoreClaim[]): void {
    for (const claim of claims) {
      if (this.run === null) this.unnoted.push(claim)
      else this.change(claim, 'logged').catch(() => void this.unnoted.push(claim))
    }
  }

  async beginLoading(mark: string): Promise<void> {
    await this.send(() => {
      this.server.mark = `loading ${mark}`
    })
  }

  load(mark: string, keys: readonly LoadedKey[]): Promise<boolean> {
    return this.send(() => this.server.load(mark, keys))
  }

  endLoading(mark: string): Promise<boolean> {
    return this.send(() => this.server.endLoading(mark))
  }
}
