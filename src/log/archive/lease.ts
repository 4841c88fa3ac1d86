import { sql } from 'drizzle-orm'
import type { Clock } from '../../platform/clock.ts'
import { askedRow } from '../../platform/db/asked-rows.ts'
import {
  type Database,
  DatabaseStore,
  queryRows,
  type Transaction,
} from '../../platform/db/client.ts'
import { randomBase62 } from '../../platform/ids.ts'

/** Time for which a process that died keeps others from the archive. */
const LEASE_SECONDS = 60
const RENEW_MS = 15_000
/** Without a renewal for so long, the work stops before another process may begin. */
const UNCONFIRMED_MS_MAX = 45_000
const ID_CHARS = 16
/** The lease of a round, in the row with the identity of the archive. Others are named by days. */
export const ROUND = 'log'

/** Another process works on the archive by now. */
export class LeaseLostError extends Error {
  constructor() {
    super('another process works on the archive')
  }
}

/** The lease and its holder, and by whom: for `checkHeld`. */
export interface Holding {
  /** `ROUND`, or a day such as `2026-11-21`. */
  readonly name: string
  /** Random for each work. */
  readonly holder: string
}

/** The work of the process that has a lease. */
export interface HeldLease extends Holding {
  /** @throws LeaseLostError */
  check(): void
}

/**
 * Lets one process at a time do rounds, and one work at a time change the files of a day. Who lost
 * a lease can't change the manifest any more: each such change checks the lease in its transaction.
 * Who stands still inside a call of the store of objects can still end it later. That does no harm:
 * a name is used for one content, and a name whose object was deleted is never used again.
 */
export class ArchiveLease {
  private readonly store: Pick<LeaseStore, keyof LeaseStore>
  private readonly clock: Pick<Clock, 'monotonicMs'>

  constructor(store: Pick<LeaseStore, keyof LeaseStore>, clock: Pick<Clock, 'monotonicMs'>) {
    this.store = store
    this.clock = clock
  }

  /**
   * @param name `ROUND`, or a day such as `2026-11-21`
   * @returns null, without having worked, if another work has the lease
   */
  async hold<T>(name: string, work: (lease: HeldLease) => Promise<T>): Promise<T | null> {
    const holding = { name, holder: randomBase62(ID_CHARS) }
    let confirmedMs = this.clock.monotonicMs()
    if (!(await this.store.take(holding))) return null
    let isLost = false
    const timer = setInterval(() => {
      const askedMs = this.clock.monotonicMs()
      this.store.renew(holding).then(
        (isHeld) => {
          isLost ||= !isHeld
          if (isHeld) confirmedMs = Math.max(confirmedMs, askedMs)
        },
        // The next renewal comes before the end of the lease.
        () => undefined,
      )
    }, RENEW_MS).unref()
    const check = () => {
      const unconfirmedMs = this.clock.monotonicMs() - confirmedMs
      if (isLost || unconfirmedMs > UNCONFIRMED_MS_MAX) throw new LeaseLostError()
    }
    try {
      return await work({ ...holding, check })
    } finally {
      clearInterval(timer)
      await this.store.release(holding).catch(() => undefined)
    }
  }
}

/** Leases in PostgreSQL, by its clock. */
export class LeaseStore extends DatabaseStore {
  /** @returns false if another work has the lease */
  async take({ name, holder }: Holding): Promise<boolean> {
    const archiveId = name === ROUND ? randomBase62(ID_CHARS) : ''
    const taken = await queryRows<Pick<Holding, 'holder'>>(
      this.db,
      sql`insert into score_archive as held (name, archive_id, owners, holder, leased_until)
        values (${name}, ${archiveId}, null, ${holder},
          now() + ${`${LEASE_SECONDS} seconds`}::interval)
        on conflict (name) do update
          set holder = excluded.holder, leased_until = excluded.leased_until
          where held.holder = excluded.holder or held.holder is null or held.leased_until < now()
        returning holder`,
    )
    return askedRow(taken, (row) => row.holder === holder) !== null
  }

  /**
   * Renews only a lease that is still held: one that was released a moment ago stays free.
   *
   * @returns false if another work has taken the lease
   */
  async renew({ name, holder }: Holding): Promise<boolean> {
    const renewed = await queryRows(
      this.db,
      sql`update score_archive
        set leased_until = now() + ${`${LEASE_SECONDS} seconds`}::interval
        where name = ${name} and holder = ${holder} returning 1`,
    )
    return renewed.length > 0
  }

  /** The row with the identity stays. */
  async release({ name, holder }: Holding): Promise<void> {
    await this.db.execute(
      name === ROUND
        ? sql`update score_archive set holder = null where name = ${name} and holder = ${holder}`
        : sql`delete from score_archive where name = ${name} and holder = ${holder}`,
    )
  }
}

/**
 * Runs a transaction of the work that has a lease.
 *
 * @throws LeaseLostError
 */
export function whileHeld<T>(
  db: Database,
  lease: Holding,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  return db.transaction(async (tx) => {
    await checkHeld(tx, lease)
    return work(tx)
  })
}

/** @throws LeaseLostError unless the transaction is of the work that has the lease */
export async function checkHeld(tx: Transaction, { name, holder }: Holding): Promise<void> {
  const held = await queryRows(
    tx,
    sql`select 1 from score_archive
      where name = ${name} and holder = ${holder} and leased_until > now() for update`,
  )
  if (held.length === 0) throw new LeaseLostError()
}
