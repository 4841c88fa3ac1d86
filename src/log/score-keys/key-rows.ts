import { type SQL, sql } from 'drizzle-orm'
import type { Transaction } from '../../platform/db/client.ts'
import { bigintList } from '../../platform/db/lists.ts'
import { packRequestId, unpackRequestId } from '../blocks/request-id-column.ts'
import type { ScoreKey } from '../record/record-v4.ts'
import { SPAN_MS } from '../rollups/spans.ts'

/** The key of a single score, and the request that had it first. */
export interface KeyOfRequest extends ScoreKey {
  readonly requestId: string
}

export interface LoggedKey extends KeyOfRequest {
  /** The time of a request whose id has none. */
  readonly scoredAtMs: number
}

/** A key repeats its request for a day. */
const KEPT_MS = SPAN_MS.day
const DAY_SECONDS = SPAN_MS.day / 1_000
/** Partitions, each with the rows that were written on one day of three. */
export const SLOTS = 3
/** The two low bits of a row's 128 bits of the request say its slot, the 126 above them its id. */
const SLOT_BITS = 2n
const WORD_BITS = 64n
const TIME_SHIFT = 22
const TIME_MAX = 2 ** 42 - 1
const RANDOM_BITS = 84n

/**
 * By the clock of the database, not by the time in an id: those of replicas differ. A scalar query,
 * which the database computes once for a statement.
 */
const SLOT_OF_TODAY = sql.raw(
  `(select floor(extract(epoch from now()) / ${DAY_SECONDS})::bigint % ${SLOTS})`,
)
/** In milliseconds. */
const REQUEST_TIME = sql.raw(`(request_high >> ${TIME_SHIFT} & ${TIME_MAX})`)
const KEPT_SINCE = sql.raw(`(select (extract(epoch from now()) * 1000)::bigint - ${KEPT_MS})`)

/** Condition of a row of `score_keys`: its request is at most a day old. */
export const IS_KEPT: SQL = sql`${REQUEST_TIME} >= ${KEPT_SINCE}`

/** Columns of a `KeyRow`; as texts, because the drivers give such numbers differently. */
export const KEY_COLUMNS: SQL = sql.raw(
  `key_high::text, key_low::text, body_hash::text, request_high::text, request_low::text, other_id`,
)

export interface KeyRow {
  readonly key_high: string
  readonly key_low: string
  readonly body_hash: string
  readonly request_high: string
  readonly request_low: string
  readonly other_id: Uint8Array | null
}

/**
 * Adds the keys of drained requests, but those of requests that are older than a day: a spool can
 * be drained late. A batch that is drained again adds them again, which does no harm.
 */
export async function insertScoreKeys(tx: Transaction, keys: readonly LoggedKey[]): Promise<void> {
  if (keys.length === 0) return
  const rows = keys.map(makeRow)
  // First, because `unnest` fills up the shortest list: usually it is empty.
  rows.sort((one, other) => Number(one.other === null) - Number(other.other === null))
  const others = rows.flatMap(({ other }) => other ?? [])
  const list = (column: 'keyHigh' | 'keyLow' | 'body' | 'requestHigh' | 'requestLow') =>
    bigintList(rows.map((row) => `${row[column]}`))
  const otherIds = `{${others.map((id) => `"\\\\x${id.toString('hex')}"`).join()}}`
  await tx.execute(
    sql`insert into score_keys (key_high, key_low, body_hash, request_high, request_low, other_id)
      select key_high, key_low, body_hash, request_high, request_low | ${SLOT_OF_TODAY}, other_id
      from unnest(${list('keyHigh')}, ${list('keyLow')}, ${list('body')}, ${list('requestHigh')},
        ${list('requestLow')}, ${otherIds}::bytea[])
        as given (key_high, key_low, body_hash, request_high, request_low, other_id)
      where ${IS_KEPT}`,
  )
}

/** The words of a key's hash. */
export function splitHash(keyHash: Uint8Array): readonly [high: bigint, low: bigint] {
  const { buffer, byteOffset, length } = keyHash
  const view = new DataView(buffer, byteOffset, length)
  return [view.getBigInt64(0), view.getBigInt64(8)]
}

export function readKeyRow(row: KeyRow): KeyOfRequest {
  const { other_id: other } = row
  return {
    keyHash: joinWords(BigInt(row.key_high), BigInt(row.key_low)),
    bodyHash: joinWords(BigInt(row.body_hash)),
    requestId: other === null ? unpackRequestId(readRequest(row)) : Buffer.from(other).toString(),
  }
}

/** Milliseconds since 1970. */
export function readTime(row: KeyRow): number {
  return Number(readRequest(row) >> RANDOM_BITS)
}

function makeRow({ keyHash, bodyHash, requestId, scoredAtMs }: LoggedKey) {
  const packed = packRequestId(requestId)
  const timeMs = Math.min(Math.max(Math.floor(scoredAtMs), 0), TIME_MAX)
  const request = (packed ?? BigInt(timeMs) << RANDOM_BITS) << SLOT_BITS
  const [keyHigh, keyLow] = splitHash(keyHash)
  return {
    keyHigh,
    keyLow,
    body: Buffer.from(bodyHash).readBigInt64BE(),
    requestHigh: BigInt.asIntN(64, request >> WORD_BITS),
    requestLow: BigInt.asIntN(64, request),
    other: packed === null ? Buffer.from(requestId) : null,
  }
}

/** The 126 bits of the id. */
function readRequest({ request_high: high, request_low: low }: KeyRow): bigint {
  const words = (BigInt.asUintN(64, BigInt(high)) << WORD_BITS) | BigInt.asUintN(64, BigInt(low))
  return words >> SLOT_BITS
}

function joinWords(...words: readonly bigint[]): Uint8Array {
  const bytes = Buffer.alloc(8 * words.length)
  for (const [at, word] of words.entries()) bytes.writeBigInt64BE(word, 8 * at)
  return bytes
}
