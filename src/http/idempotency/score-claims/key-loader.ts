import { sql } from 'drizzle-orm'
import { DatabaseStore, queryRows } from '../../../platform/db/client.ts'
import { timeOfId } from '../../../platform/ids.ts'
import { KEPT_MS } from '../store.ts'
import type { LoggedKeys } from './logged-keys.ts'
import type { RedisClaims } from './redis-claims.ts'
import { formatTag, type LoadedKey } from './score-claim.ts'
import { SEEN_BYTES } from './seen-keys.ts'

/** Keys of a statement, and of a call to Redis: both do nothing else meanwhile, nor this process. */
const PAGE_ROWS = 250
const NO_HASH = new Uint8Array(0)
const KEPT_SECONDS = sql.raw(`${KEPT_MS / 1_000}`)

interface KeyRow {
  readonly key_hash: Uint8Array
  readonly since_sec: number
}

/** The keys that have a row of their own, page by page. */
export class StoredKeyStore extends DatabaseStore {
  async readPage(after: Uint8Array): Promise<readonly KeyRow[]> {
    return queryRows<KeyRow>(
      this.db,
      sql`select key_hash,
          floor(extract(epoch from expires_at) - ${KEPT_SECONDS})::float8 as since_sec
        from idempotency_keys where key_hash > ${after}::bytea and expires_at > now()
        order by key_hash limit ${sql.raw(`${PAGE_ROWS}`)}`,
    )
  }
}

interface ReadOptions {
  readonly stored: Pick<StoredKeyStore, 'readPage'>
  readonly logged: Pick<LoggedKeys, 'pages'>
}

interface ReadHashesOptions extends Pick<ReadOptions, 'stored'> {
  readonly logged: Pick<LoggedKeys, 'hashPages'>
}

/** Reads all keys of the last day that the database has, page by page, and further ones. */
export async function* readKeys({
  stored,
  logged,
}: ReadOptions): AsyncGenerator<readonly LoadedKey[]> {
  for await (const rows of readStoredRows(stored)) {
    yield rows.map(({ key_hash: keyHash, since_sec: sinceSec }) => ({
      keyHash,
      state: 'stored' as const,
      sinceSec,
      bodyTag: '',
      requestId: '',
    }))
  }
  for await (const page of logged.pages()) {
    yield page.map(({ keyHash, bodyHash, requestId }) => ({
      keyHash,
      state: 'logged' as const,
      sinceSec: Math.floor((timeOfId(requestId) ?? Date.now()) / 1_000),
      bodyTag: formatTag(bodyHash),
      requestId,
    }))
  }
}

/** Reads the first 8 bytes of the hashes of the same keys, one after the other, page by page. */
export async function* readHashes({
  stored,
  logged,
}: ReadHashesOptions): AsyncGenerator<Uint8Array> {
  for await (const rows of readStoredRows(stored)) {
    yield Buffer.concat(rows.map(({ key_hash: keyHash }) => keyHash.subarray(0, SEEN_BYTES)))
  }
  yield* logged.hashPages()
}

async function* readStoredRows(stored: Pick<StoredKeyStore, 'readPage'>) {
  let after: Uint8Array = NO_HASH
  for (;;) {
    const rows = await stored.readPage(after)
    const last = rows.at(-1)
    if (last === undefined) return
    after = last.key_hash
    yield rows
  }
}

/**
 * Copies keys into Redis.
 *
 * @returns false if Redis has lost some of them meanwhile
 */
export async function loadKeys(
  redis: Pick<RedisClaims, 'beginLoading' | 'load' | 'endLoading'>,
  pages: AsyncIterable<readonly LoadedKey[]>,
  mark: string,
): Promise<boolean> {
  await redis.beginLoading(mark)
  for await (const page of pages) {
    if (page.length > 0 && !(await redis.load(mark, page))) return false
  }
  return redis.endLoading(mark)
}
