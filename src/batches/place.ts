import { randomBase62 } from '../platform/ids/base62.ts'
import { type ObjectStore, ObjectStoreError } from '../platform/object-store/object-store.ts'
import { readObject } from '../platform/object-store/read-object.ts'
import { bytesSource } from '../platform/object-store/sources.ts'

const KEY = '_place'
const CHARS = 20

/**
 * The name of a store, which is in the store itself: replicas that share one find the same name,
 * and a job goes only to a replica that has its files.
 *
 * @throws ObjectStoreError
 */
export async function placeOf(store: ObjectStore): Promise<string> {
  if ((await store.head(KEY)) === null) {
    await store.put(KEY, bytesSource(Buffer.from(randomBase62(CHARS)))).catch((error: unknown) => {
      // Another replica was first.
      if (!(error instanceof ObjectStoreError) || error.failure !== 'conflict') throw error
    })
  }
  return (await readObject(store, KEY, CHARS)).toString('latin1')
}
