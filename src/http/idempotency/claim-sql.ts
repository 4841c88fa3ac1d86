import { type SQL, sql } from 'drizzle-orm'
import { listRows, nameList } from '../../platform/db/lists.ts'

interface AskedClaim {
  readonly keyHash: Uint8Array
  readonly bodyHash: Uint8Array
  readonly claimId: string
}

/** Begins the claims of processes that take part in the agreement, as opposed to earlier versions. */
export const CLAIM_PREFIX = 'p-'
/** Begins the claim of a score or batch, which has the id of its request until its answer is kept. */
export const SCORE_CLAIM = `${CLAIM_PREFIX}req_`

/** The claim of a score that has ended without its answer: the log may have it. */
export interface FormerClaim {
  readonly claimId: string
  readonly bodyHash: Uint8Array
}

/** In place of what is held. */
export const NO_BODY = sql.raw(
  'null::bytea as body_hash, null::bytea as answer, false as is_answered, true as is_claimed, ' +
    'null::text as former_id',
)

/** A key that nobody has, or has any more; see the states in `IdempotencyService`. */
export function isFree(row: '' | 'stored.'): SQL {
  const of = (column: string) => sql.raw(`${row}${column}`)
  return sql`${of('expires_at')} <= now() or (${of('answer')} is null
    and ${of('changed_at')} is null and ${of('claimed_until')} <= now())`
}

/** A free key that may be taken only in place of a claim that was looked up, see `FormerClaim`. */
export function isFormer(insteadOf: readonly string[]): SQL {
  return sql`(answer is null and changed_at is null and claimed_until <= now()
    and expires_at > now() and claim_id like ${`${SCORE_CLAIM}%`}
    and claim_id <> all(${nameList(insteadOf)}))`
}

/** The rows of these hashes, locked in their order. */
export function lockInOrder(hashes: SQL): SQL {
  return sql`select key_hash, claim_id from idempotency_keys
    where key_hash = any(${hashes}) order by key_hash for update`
}

export function listClaims(claims: readonly AskedClaim[]): SQL {
  const rows = claims.map(({ keyHash, bodyHash, claimId }) => [keyHash, bodyHash, claimId])
  return sql`${listRows(rows)} as asked (key_hash, body_hash, claim_id)`
}
