import { hash } from 'node:crypto'
import { sql } from 'drizzle-orm'
import { DatabaseStore, epochMs, queryRows, type Transaction } from '../../platform/db/client.ts'
import { type Erases, withoutReferences } from './erased-record.ts'

/** The number of the newest erasure; 0 without any. */
export const NEWEST_ERASURE = sql`(select coalesce(max(number), 0)::float8 from log_erasures)`

/**
 * The number of the newest erasure, for a transaction that stores records and moves no cursor of a
 * spool. Until it ends no erasure is listed: it would look for the records before they are seen.
 */
export async function newestErasure(tx: Transaction): Promise<number> {
  await tx.execute(sql`lock table spool_cursors in row exclusive mode`)
  const [row] = await queryRows<{ newest: number }>(tx, sql`select ${NEWEST_ERASURE} as newest`)
  return row?.newest ?? 0
}

interface ListedErasure {
  readonly number: number
  readonly team_id: string
  readonly reference_hash: string
  readonly covers_until_ms: number
}

/** A batch was encoded without an erasure that the database has. */
export class ErasuresMovedError extends Error {
  constructor() {
    super('a reference was erased meanwhile')
  }
}

/**
 * The erased references that this process knows. While there is none, nothing is read and nothing
 * is hashed: whoever stores records compares `version` with `NEWEST_ERASURE` in its transaction,
 * and loads the list only after a difference.
 */
export class ErasureList extends DatabaseStore {
  /** By team and hash: records that were scored until then lose the reference. */
  private readonly teams = new Map<string, Map<string, number>>()
  private newest = 0

  /** The number of the newest known erasure. */
  get version(): number {
    return this.newest
  }

  get isEmpty(): boolean {
    return this.teams.size === 0
  }

  /** Reads what is new. */
  async load(): Promise<void> {
    const [row] = await queryRows<{ newest: number }>(
      this.db,
      sql`select ${NEWEST_ERASURE} as newest`,
    )
    const newest = row?.newest ?? 0
    if (newest === this.newest) return
    if (newest < this.newest) {
      // Old erasures have left, or another database was restored.
      this.newest = 0
      this.teams.clear()
    }
    const rows = await queryRows<ListedErasure>(
      this.db,
      sql`select number::float8 as number, team_id, reference_hash,
          ${epochMs(sql`covers_until`)} as covers_until_ms
        from log_erasures where number > ${this.newest} and number <= ${newest}`,
    )
    for (const { team_id, reference_hash, covers_until_ms } of rows) {
      const ofTeam = this.teams.get(team_id) ?? new Map<string, number>()
      this.teams.set(team_id, ofTeam.set(reference_hash, covers_until_ms))
    }
    this.newest = newest
  }

  /**
   * A record without what is erased of it.
   *
   * @throws Error that says what is wrong with the record, without quoting it
   */
  applied(payload: Buffer): Buffer {
    return this.isEmpty ? payload : withoutReferences(payload, this.erases).payload
  }

  private readonly erases: Erases = (teamId, scoredAtMs) => {
    const ofTeam = this.teams.get(teamId)
    if (ofTeam === undefined) return null
    return (reference) => {
      const untilMs = ofTeam.get(hashOfReference(teamId, reference))
      return untilMs !== undefined && scoredAtMs <= untilMs
    }
  }
}

/** SHA-256 in hex of a team and a reference, as erasures and the audit log have it. */
export function hashOfReference(teamId: string, reference: string): string {
  return hash('sha256', `${teamId} ${reference}`)
}
