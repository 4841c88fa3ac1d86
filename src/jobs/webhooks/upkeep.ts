import { Periodic } from '../../platform/periodic.ts'
import type { SecretSealer } from './secret-sealer.ts'
import type { UpkeepStore } from './upkeep-store.ts'
import type { SealedSecrets } from './webhook.ts'

interface UpkeepOptions {
  readonly store: UpkeepStore
  readonly sealer: SecretSealer
  readonly onFailed: (error: unknown) => void
}

const EVERY_MS = 60_000
const DAY_MS = 24 * 3_600_000
/** Time for which deliveries are kept after their end. */
const KEPT = { deliveredMs: 3 * DAY_MS, deadMs: 30 * DAY_MS }
/** Keys of events that are stored once are of a day. */
const EVENTS_KEPT_MS = 3 * DAY_MS
/** Longest time in which deliveries of a webhook may still come after it was switched off. */
const INACTIVE_KEPT_MS = 3 * DAY_MS
/** Deliveries that wait for one webhook. */
const WAITING_MAX = 50_000
const BACKLOG_COUNT_MAX = 1_000_000
/** Rows of a statement, so that it ends soon. */
const PORTION_ROWS = 1_000
const PORTIONS_MAX = 30
const RESEALED_AT_A_TIME = 100

/** Removes what is old, once a minute in each replica, and notes webhooks that are full. */
export class WebhookUpkeep {
  private readonly options: UpkeepOptions
  readonly periodic: Periodic
  /** As the last round found it. */
  backlog = { waiting: 0, overdueMs: 0 }

  constructor(options: UpkeepOptions) {
    this.options = options
    const { onFailed } = options
    this.periodic = new Periodic({ round: () => this.cleanUp(), everyMs: EVERY_MS, onFailed })
  }

  /**
   * Does one round.
   *
   * @param waitingMax deliveries that may wait for one webhook
   */
  async cleanUp(waitingMax = WAITING_MAX): Promise<void> {
    const { store } = this.options
    await store.noteFull(waitingMax)
    this.backlog = await store.backlog(BACKLOG_COUNT_MAX)
    await this.resealAll()
    await inPortions(() => store.removeRemoved(PORTION_ROWS))
    await inPortions(() => store.giveUpOfInactive(INACTIVE_KEPT_MS, PORTION_ROWS))
    await inPortions(() => store.removeFinished(KEPT, PORTION_ROWS))
    await inPortions(() => store.removeEvents(EVENTS_KEPT_MS, PORTION_ROWS))
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
