import { sql } from 'drizzle-orm'
import { DatabaseStore, queryRows, type Transaction } from '../../../platform/db/client.ts'
import {
  type Agreement,
  type ClaimMode,
  type Decision,
  type Lease,
  ONLY_LEASE,
} from './agreement.ts'

interface AgreementRow {
  readonly mode: ClaimMode
  readonly mark: string
  readonly redis_run: string
  readonly loader: string
  readonly is_kept_slow: boolean
  readonly has_fast_keys: boolean
}

interface LeaseRow {
  readonly process_id: string
  readonly mode: ClaimMode
  readonly mark: string
}

/** Leases in force, and what was decided of them. */
export interface Seen {
  readonly agreed: Agreement
  /** Of other processes. */
  readonly others: readonly Lease[]
  /** True if keys may have been claimed in Redis alone within the last day. */
  readonly hasFastKeys: boolean
}

/** A lease is in force for others so long. */
export const LEASE_MS = 10_000
/** So long the mode stays slow after a process has needed that. */
const SLOW_MS = 10_000
/** An answer is given again for a day; the clock of a replica may be wrong by an hour. */
const FAST_LIFE = sql.raw(`interval '25 hours'`)
const LEASE_END = sql.raw(`clock_timestamp() + interval '${LEASE_MS} milliseconds'`)
const SLOW_END = sql.raw(`clock_timestamp() + interval '${SLOW_MS} milliseconds'`)

/** The agreement on where the keys of scores are claimed, in PostgreSQL. */
export class AgreementStore extends DatabaseStore {
  /** Decides, alone of all processes, and stores the decision. */
  decide(processId: string, decide: (seen: Seen) => Decision): Promise<Decision> {
    return this.db.transaction(async (tx) => {
      const [row] = await queryRows<AgreementRow>(
        tx,
        sql`select mode, mark, redis_run, loader, slow_until > clock_timestamp() as is_kept_slow,
            coalesce(mode = 'fast' or fast_at > clock_timestamp() - ${FAST_LIFE}, false)
              as has_fast_keys
          from score_claims for update`,
      )
      if (row === undefined) throw new Error('the row of score_claims is gone')
      const leases = await queryRows<LeaseRow>(
        tx,
        sql`select process_id, mode, mark from score_claim_leases where until > clock_timestamp()`,
      )
      const { mode, mark, redis_run: run, loader, is_kept_slow: isKeptSlow } = row
      const isLoaderAlive = leases.some((lease) => lease.process_id === loader)
      const agreed = { mode, mark, run, loader, isLoaderAlive, isKeptSlow }
      const others = leases.filter((lease) => lease.process_id !== processId)
      const decision = decide({ agreed, others, hasFastKeys: row.has_fast_keys })
      await writeAgreement(tx, agreed, decision)
      if (decision.lease !== null) await writeLease(tx, processId, decision.lease)
      else if (decision.endsLease) await endLease(tx, processId)
      return decision
    })
  }

  /** Notes that the only process of the database claims keys by itself: no other has them. */
  async claimAlone(): Promise<void> {
    await this.db.execute(
      sql`update score_claims set mode = ${ONLY_LEASE.mode}, mark = ${ONLY_LEASE.mark}, redis_run = '', loader = '',
        fast_at = clock_timestamp()`,
    )
  }

  /** Ends the leases of a process, and forgets those of processes that have died. */
  async end(processId: string): Promise<void> {
    await this.db.execute(
      sql`delete from score_claim_leases
        where process_id = ${processId} or until < clock_timestamp() - interval '1 hour'`,
    )
  }

  /**
   * Names the database, so that several can have keys in one Redis. A copy has another name, also one
   * that is restored in its place: it may lack scores whose keys Redis has.
   */
  async readPlace(): Promise<string> {
    const [row] = await queryRows<{ place: string }>(
      this.db,
      sql`select place || oid as place from score_claims, pg_database
        where datname = current_database()`,
    )
    if (row === undefined) throw new Error('the row of score_claims is gone')
    return row.place
  }
}

async function writeAgreement(tx: Transaction, agreed: Agreement, decision: Decision) {
  const { mode, mark, run, loader, keepsSlow } = decision
  const isSame = mode === agreed.mode && mark === agreed.mark && run === agreed.run
  if (isSame && loader === agreed.loader && !keepsSlow) return
  await tx.execute(
    sql`update score_claims set mode = ${mode}, mark = ${mark}, redis_run = ${run},
        loader = ${loader},
        fast_at = case when 'fast' in (mode, ${mode}) then clock_timestamp() else fast_at end,
        slow_until = ${keepsSlow ? SLOW_END : sql.raw('slow_until')}`,
  )
}

async function endLease(tx: Transaction, processId: string) {
  await tx.execute(sql`delete from score_claim_leases where process_id = ${processId}`)
}

async function writeLease(tx: Transaction, processId: string, { mode, mark }: Lease) {
  await tx.execute(
    sql`insert into score_claim_leases (process_id, mode, mark, until)
      values (${processId}, ${mode}, ${mark}, ${LEASE_END})
      on conflict (process_id) do update
        set mode = excluded.mode, mark = excluded.mark, until = excluded.until`,
  )
}
