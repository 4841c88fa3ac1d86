import { createHmac, randomBytes } from 'node:crypto'
import { idOfDigest } from '../../platform/ids.ts'
import type { Batch } from './batch.ts'

const SEED_BYTES = 32

/** Returns what the request ids of a new batch follow from; it never leaves the database. */
export function newRequestSeed(): string {
  return randomBytes(SEED_BYTES).toString('base64url')
}

/**
 * The request that the next chunk of a batch is in the log.
 *
 * It follows from the row with which the batch was made, the number of the chunk and its place in
 * the file. A chunk that is scored again, also after a failover that lost its commit, has the same
 * request, and so the same results as those that may have been downloaded. Its time is that of the
 * batch, and a millisecond more for each chunk before it: ids of a batch are in the order of its
 * file.
 */
export function requestOfChunk({
  id,
  requestSeed,
  createdAt,
  chunks,
  position,
}: Pick<Batch, 'id' | 'requestSeed' | 'createdAt' | 'chunks' | 'position'>): string {
  const digest = createHmac('sha256', Buffer.from(requestSeed, 'base64url'))
    .update(`${id} ${chunks} ${position.offset}`)
    .digest()
  return idOfDigest('req_', createdAt.getTime() + chunks, digest)
}
