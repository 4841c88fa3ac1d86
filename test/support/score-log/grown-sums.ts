import { crc32 } from 'node:zlib'
import { sql } from 'drizzle-orm'
import { type Database, queryRows } from '../../../src/platform/db/client.ts'

/** Adds bytes that are not read to the sums of all blocks, below their checksum. */
export async function growSums(db: Database, bytes: number): Promise<void> {
  const rows = await queryRows<{ block_id: string; sums: Uint8Array }>(
    db,
    sql`select block_id::text as block_id, sums from score_sums`,
  )
  for (const { block_id, sums } of rows) {
    const grown = Buffer.concat([sums.subarray(0, -4), Buffer.alloc(bytes + 4)])
    grown.writeUInt32LE(crc32(grown.subarray(0, -4)), grown.length - 4)
    await db.execute(
      sql`update score_sums set sums = ${grown} where block_id = ${block_id}::bigint`,
    )
  }
}
