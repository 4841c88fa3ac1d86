import { isIP } from 'node:net'
import { clientNetwork } from '../http/client-network.ts'
import { ADDRESS_PREFIX, type Limiter, rateLimited } from './limiter.ts'

/** The wait of a refused caller, where the limiter itself would admit a request again by then. */
const RETRY_AFTER_MS = 1_000

interface Running {
  count: number
  /** Resolves when one of them has ended. */
  ended: PromiseWithResolvers<void>
}

/**
 * Bounds what addresses may have looked up before they have proven anything.
 *
 * A look-up starts if the quota of its address has room for it and for all that are under way, as
 * if all of them proved wrong; otherwise it waits until one ends. The quota counts wrong ones
 * afterwards and right ones never: many valid keys may come from one address. With a shared limiter
 * this replica knows its own admissions, and each denial of Redis for a second: an address beyond
 * its quota then costs each replica one look-up a second.
 */
export class LookUpGate {
  private readonly limiter: Limiter
  private readonly quotaPerMinute: number
  private readonly running = new Map<string, Running>()

  constructor(limiter: Limiter, quotaPerMinute: number) {
    this.limiter = limiter
    this.quotaPerMinute = quotaPerMinute
  }

  /** @throws AppError `rate_limited`, without a look-up, for an address without room */
  async run<T>(address: string, lookUp: () => Promise<T>): Promise<T> {
    const subject = makeAddressSubject(address)
    for (;;) {
      const room = this.limiter.findRoom(subject, this.quotaPerMinute)
      if (room <= 0) throw rateLimited(RETRY_AFTER_MS)
      const running = this.running.get(subject)
      if (running === undefined || running.count < room) break
      await running.ended.promise
    }
    this.begin(subject)
    try {
      return await lookUp()
    } finally {
      // A wrong one is counted within this turn of the event loop, unless Redis is asked.
      setImmediate(() => this.end(subject))
    }
  }

  private begin(subject: string): void {
    const running = this.running.get(subject)
    if (running === undefined) {
      this.running.set(subject, { count: 1, ended: Promise.withResolvers() })
    } else running.count++
  }

  private end(subject: string): void {
    const running = this.running.get(subject)
    if (running === undefined) return
    const { ended } = running
    running.count--
    if (running.count === 0) this.running.delete(subject)
    else running.ended = Promise.withResolvers()
    ended.resolve()
  }
}

/**
 * The subject of a client that is not proven: its IPv4 address, or the /64 of its IPv6 address.
 *
 * @param address as a proxy or the socket names it. All texts that are not addresses are one
 *   subject, so that a client can't choose a name in Redis
 */
export function makeAddressSubject(address: string | undefined): string {
  const network = clientNetwork(address ?? '')
  const [plain = ''] = network.split('/')
  return ADDRESS_PREFIX + (isIP(plain) === 0 ? 'unknown' : network)
}
