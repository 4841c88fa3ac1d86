import { sql } from 'drizzle-orm'
import { type Database, rowsOf, type Transaction } from '../platform/db/client.ts'
import { randomBase62 } from '../platform/ids/base62.ts'

/** How long a process that died keeps others from the archive. */
const LEASE_SECONDS = 60
const RENEW_MS = 15_000
/** Without a renewal for so long, the work stops before another process may begin. */
const UNCONFIRMED_MS_MAX = 45_000
const ID_CHARS = 16

/** Another process works on the archive by now. */
export class LeaseLostError extends Error {
  constructor() {
    super('another process works on the archive')
  }
}

/** The work of the process that has the archive. */
export interface HeldLease {
  /** Names the work, for `checkHeld`. */
  readonly holder: string
  /** @throws LeaseLostError */
  check(): void
}

/**
 * Lets one process at a time change the archive. A process that lost its lease can still store an
 * object, whose name no other uses with another content, but it can't change the manifest: each
 * such change checks the lease in its transaction.
 */
export class ArchiveLease {
  private readonly db: Database

  constructor(db: Database) {
    this.db = db
  }

  /** @returns null, without having worked, if another process has the archive */
  async hold<T>(work: (lease: HeldLease) => Promise<T>): Promise<T | null> {
    const holder = randomBase62(ID_CHARS)
    let confirmedMs = performance.now()
    if (!(await this.take(holder))) return null
    let isLost = false
    const timer = setInterval(() => {
      const askedMs = performance.now()
      this.take(holder).then(
        (isHeld) => {
          isLost ||= !isHeld
          confirmedMs = askedMs
        },
        // The next renewal comes before the end of the lease.
        () => undefined,
      )
    }, RENEW_MS).unref()
    const check = () => {
      const unconfirmedMs = performance.now() - confirmedMs
      if (isLost || unconfirmedMs > UNCONFIRMED_MS_MAX) throw new LeaseLostError()
    }
    try {
      return await work({ holder, check })
    } finally {
      clearInterval(timer)
      await this.release(holder).catch(() => undefined)
    }
  }

  private async take(holder: string): Promise<boolean> {
    await this.db.execute(sql`insert into score_archive (name, archive_id, holder, leased_until)
      values ('log', ${randomBase62(ID_CHARS)}, null, now()) on conflict do nothing`)
    const taken = await rowsOf(
      this.db,
      sql`update score_archive set holder = ${holder},
          leased_until = now() + ${`${LEASE_SECONDS} seconds`}::interval
        where name = 'log' and (holder = ${holder} or holder is null or leased_until < now())
        returning 1`,
    )
    return taken.length > 0
  }

  private async release(holder: string): Promise<void> {
    await this.db.execute(sql`update score_archive set holder = null where holder = ${holder}`)
  }
}

/** @throws LeaseLostError unless the transaction is of the process that has the archive */
export async function checkHeld(tx: Transaction, holder: string): Promise<void> {
  const held = await rowsOf(
    tx,
    sql`select 1 from score_archive
      where name = 'log' and holder = ${holder} and leased_until > now() for update`,
  )
  if (held.length === 0) throw new LeaseLostError()
}
