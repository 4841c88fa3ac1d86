import type { SecretSealer } from './secret-sealer.ts'
import type { SealedSecrets } from './webhook.ts'

/** What upkeep asks of the database. */
export interface UpkeepStore {
  /** Removes deliveries that ended before, the oldest first. @returns how many */
  removeFinished(
    kept: { readonly deliveredMs: number; readonly deadMs: number },
    limit: number,
  ): Promise<number>
  /** Removes deliveries of removed webhooks, and then those webhooks. @returns how many */
  removeRemoved(limit: number): Promise<number>
  /** Gives up deliveries that wait for a webhook that is switched off. @returns how many */
  giveUpOfInactive(keptMs: number, limit: number): Promise<number>
  /** Removes older events that have no delivery. @returns how many */
  removeEvents(keptMs: number, limit: number): Promise<number>
  /** Notes which webhooks have so many waiting deliveries that they take no more. */
  noteFull(waitingMax: number): Promise<void>
  /** Waiting deliveries of active webhooks, up to a bound, and the age of the oldest. */
  backlog(countMax: number): Promise<{ readonly waiting: number; readonly overdueMs: number }>
  /** Keys that another secret of the service has sealed. */
  sealedOtherwise(
    sealedWith: string,
    limit: number,
  ): Promise<readonly (SealedSecrets & { readonly id: string })[]>
  /** Stores keys that were sealed anew, unless they have changed meanwhile. */
  reseal(webhookId: string, from: SealedSecrets, to: SealedSecrets): Promise<void>
  /** For a database without autovacuum. */
  vacuum(): Promise<void>
}

interface UpkeepOptions {
  readonly store: UpkeepStore
  readonly sealer: SecretSealer
  readonly hasAutovacuum: boolean
  readonly onFailed: (error: unknown) => void
}

const EVERY_MS = 60_000
const DAY_MS = 24 * 3_600_000
/** How long deliveries are kept after their end. */
const KEPT = { deliveredMs: 3 * DAY_MS, deadMs: 30 * DAY_MS }
/** Keys of events that are stored once are of a day. */
const EVENTS_KEPT_MS = 3 * DAY_MS
/** How late the deliveries of a webhook that was switched off may still come. */
const INACTIVE_KEPT_MS = 3 * DAY_MS
/** Deliveries that wait for one webhook. */
const WAITING_MAX = 50_000
const BACKLOG_COUNT_MAX = 1_000_000
/** Rows of a statement, so that it ends soon. */
const PORTION_ROWS = 1_000
const PORTIONS_MAX = 30
const RESEALED_AT_A_TIME = 100
/** Vacuum reads the whole tables. */
const VACUUM_EVERY_ROUNDS = 60

/** Removes what is old, once a minute in each replica, and notes webhooks that are full. */
export class WebhookUpkeep {
  private readonly options: UpkeepOptions
  private readonly timer: NodeJS.Timeout
  private round: Promise<void> | null = null
  private rounds = 0
  /** As the last round found it. */
  backlog = { waiting: 0, overdueMs: 0 }

  constructor(options: UpkeepOptions) {
    this.options = options
    const next = () => {
      this.round ??= this.runOnce().finally(() => {
        this.round = null
      })
    }
    this.timer = setInterval(next, EVERY_MS).unref()
  }

  /**
   * One round; never rejects.
   *
   * @param waitingMax deliveries that may wait for one webhook
   */
  async runOnce(waitingMax = WAITING_MAX): Promise<void> {
    const { store, hasAutovacuum, onFailed } = this.options
    try {
      await store.noteFull(waitingMax)
      this.backlog = await store.backlog(BACKLOG_COUNT_MAX)
      await this.resealAll()
      await inPortions(() => store.removeRemoved(PORTION_ROWS))
      await inPortions(() => store.giveUpOfInactive(INACTIVE_KEPT_MS, PORTION_ROWS))
      await inPortions(() => store.removeFinished(KEPT, PORTION_ROWS))
      await inPortions(() => store.removeEvents(EVENTS_KEPT_MS, PORTION_ROWS))
      if (!hasAutovacuum && this.rounds++ % VACUUM_EVERY_ROUNDS === 0) await store.vacuum()
    } catch (error) {
      onFailed(error)
    }
  }

  /** Waits for the running round and starts no other. */
  async close(): Promise<void> {
    clearInterval(this.timer)
    await this.round
  }

  /** After a rotation of the service's secret, its former one can be forgotten soon. */
  private async resealAll(): Promise<void> {
    const { store, sealer } = this.options
    for (const row of await store.sealedOtherwise(sealer.sealedWith, RESEALED_AT_A_TIME)) {
      const anew = resealed(sealer, row)
      if (anew !== null) await store.reseal(row.id, row, anew)
    }
  }
}

/** Null for keys that can't be opened: their webhook shows that it fails. */
function resealed(
  sealer: SecretSealer,
  { id, secret, previousSecret, sealedWith }: SealedSecrets & { readonly id: string },
): SealedSecrets | null {
  try {
    const anew = (sealed: Uint8Array) => sealer.seal(id, sealer.open(id, sealed, sealedWith))
    return {
      secret: anew(secret),
      previousSecret: previousSecret === null ? null : anew(previousSecret),
      sealedWith: sealer.sealedWith,
    }
  } catch {
    return null
  }
}

async function inPortions(remove: () => Promise<number>): Promise<void> {
  for (let portion = 0; portion < PORTIONS_MAX; portion++) {
    if ((await remove()) < PORTION_ROWS) return
  }
}
