import type {
  Agreement,
  Decision,
  Lease,
} from '../../../src/http/idempotency/score-claims/agreement.ts'
import { LEASE_MS, type Seen } from '../../../src/http/idempotency/score-claims/agreement-store.ts'
import { CLAIM_MS, type HashClaim, type NewClaim } from '../../../src/http/idempotency/store.ts'
import type { VirtualTime } from './virtual-time.ts'

/** How a server can be reached from one process. */
export interface Line {
  isCut: boolean
  /** Longest time of one way of a call, beside the usual one. */
  slowMs: number
  /** Set once the process was killed: nothing goes in or out any more. */
  isDead: boolean
}

export interface LoggedKey {
  readonly requestId: string
  readonly bodyHash: Uint8Array
}

interface StoredKey {
  readonly bodyHash: Uint8Array
  readonly claimId: string
  claimedUntilMs: number
  answer: Uint8Array | null
}

const SLOW_MS = 10_000
const USUAL_MS = 3

/** The tables that idempotency uses, with the effects of their statements. */
export class FakeDatabase {
  isAway = false
  readonly leases = new Map<string, Lease & { untilMs: number }>()
  agreed = { mode: 'slow' as Agreement['mode'], mark: '', run: '', loader: '', slowUntilMs: 0 }
  fastAtMs: number | null = null
  readonly stored = new Map<string, StoredKey>()
  readonly scoreKeys = new Map<string, LoggedKey>()
  readonly log = new Set<string>()
  private readonly time: VirtualTime
  private lock: Promise<unknown> = Promise.resolve()

  constructor(time: VirtualTime) {
    this.time = time
  }

  /** One statement: the way there, its effect, the way back. */
  async call<T>(line: Line, effect: () => T): Promise<T> {
    await this.go(line)
    const value = effect()
    await this.go(line)
    return value
  }

  /** @throws Error if the server can't be reached */
  private async go(line: Line): Promise<void> {
    const { time } = this
    const slow = time.chance(0.7) ? line.slowMs / 10 : line.slowMs
    await time.sleep(time.between(0.2, USUAL_MS) + time.between(0, slow))
    if (line.isDead) await new Promise(() => undefined)
    if (!line.isCut && !this.isAway) return
    if (time.chance(0.5)) await time.sleep(time.between(0, 8_000))
    throw new Error('the database is away')
  }

  agreementStore(line: Line) {
    return {
      decide: async (id: string, decide: (seen: Seen) => Decision): Promise<Decision> => {
        await this.go(line)
        const turn = this.lock.then(() => this.transact(line, id, decide))
        this.lock = turn.catch(() => undefined)
        const { decision } = await turn
        await this.go(line)
        return decision
      },
      end: (id: string) => this.call(line, () => void this.leases.delete(id)),
    }
  }

  private async transact(line: Line, id: string, decide: (seen: Seen) => Decision) {
    if (line.isDead) throw new Error('the connection is closed')
    const { time } = this
    const nowMs = time.nowMs
    const { slowUntilMs, ...of } = this.agreed
    const inForce = [...this.leases].filter(([, lease]) => lease.untilMs > nowMs)
    const agreed = {
      ...of,
      isLoaderAlive: inForce.some(([owner]) => owner === of.loader),
      isKeptSlow: slowUntilMs > nowMs,
    }
    const others = inForce.filter(([owner]) => owner !== id).map(([, lease]) => lease)
    const hasFastKeys = of.mode === 'fast' || this.fastAtMs !== null
    const way = async () => {
      if (!line.isDead) await Promise.race([this.go(line), time.sleep(6_000)])
      if (line.isDead || line.isCut || this.isAway) throw new Error('rolled back')
    }
    await way()
    const decision = decide({ agreed, others, hasFastKeys })
    await way()
    const { mode, mark, run, loader, keepsSlow, lease } = decision
    if (mode !== of.mode && [mode, of.mode].includes('fast')) this.fastAtMs = time.nowMs
    const keptUntilMs = keepsSlow ? time.nowMs + SLOW_MS : slowUntilMs
    this.agreed = { mode, mark, run, loader, slowUntilMs: keptUntilMs }
    if (lease !== null) this.leases.set(id, { ...lease, untilMs: time.nowMs + LEASE_MS })
    else if (decision.endsLease) this.leases.delete(id)
    return { decision }
  }

  idempotencyStore(line: Line) {
    const own = ({ keyHash, claimId }: HashClaim) => {
      const row = this.stored.get(hex(keyHash))
      return row?.claimId === claimId ? row : null
    }
    return {
      claim: ({ keyHash, claimId, bodyHash }: NewClaim) =>
        this.call(line, () => {
          const row = this.stored.get(hex(keyHash))
          const isClaimed = row !== undefined && row.claimedUntilMs > this.time.nowMs
          if (row !== undefined && (row.answer !== null || isClaimed)) {
            return { held: { bodyHash: row.bodyHash, answer: row.answer, isClaimed } }
          }
          const claimedUntilMs = this.time.nowMs + CLAIM_MS
          this.stored.set(hex(keyHash), { bodyHash, claimId, claimedUntilMs, answer: null })
          return { held: null }
        }),
      keep: (claim: HashClaim, answer: Uint8Array) =>
        this.call(line, () => {
          const row = own(claim)
          if (row !== null) row.answer = answer
          return row !== null
        }),
      release: (claim: HashClaim) =>
        this.call(line, () => {
          if (own(claim)?.answer === null) this.stored.delete(hex(claim.keyHash))
        }),
      renew: (claims: readonly HashClaim[]) =>
        this.call(line, () => {
          for (const claim of claims) {
            const row = own(claim)
            if (row !== null) row.claimedUntilMs = this.time.nowMs + CLAIM_MS
          }
        }),
    }
  }
}

export function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, 16).toString('hex')
}
