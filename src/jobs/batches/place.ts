import { AppError } from '../../errors.ts'
import { randomBase62 } from '../../platform/ids.ts'
import { type ObjectStore, ObjectStoreError } from '../../platform/object-store/object-store.ts'
import { readObject } from '../../platform/object-store/read-object.ts'
import { bytesSource } from '../../platform/object-store/sources.ts'

const KEY = '_place'
const CHARS = 20

/**
 * The name of a store, which is in the store itself: replicas that share one find the same name,
 * and a job goes only to a replica that has its files.
 *
 * A volume can go away while the process runs, and then another disk is at its path. It does not
 * have the name: whoever is about to write, to remove or to miss something asks for it before.
 */
export class StorePlace {
  private readonly store: Promise<ObjectStore>
  private found = ''

  constructor(store: Promise<ObjectStore>) {
    this.store = store
  }

  /**
   * The name, read each time. The first call gives one to a store that has none.
   *
   * @throws AppError `unavailable`, also if the store is not that of the first call
   */
  readonly name = async (): Promise<string> => {
    try {
      const store = await this.store
      if (this.found === '') this.found = await formatName(store)
      else if ((await readName(store)) !== this.found) {
        const message = 'the store has not the name that it had: its volume is not mounted'
        throw new ObjectStoreError('away', message)
      }
      return this.found
    } catch (cause) {
      throw new AppError('unavailable', 'the store of batches is away, try again later', { cause })
    }
  }
}

async function formatName(store: ObjectStore): Promise<string> {
  if ((await store.head(KEY)) === null) {
    await store.put(KEY, bytesSource(Buffer.from(randomBase62(CHARS)))).catch((error: unknown) => {
      // Another replica was first.
      if (!(error instanceof ObjectStoreError) || error.failure !== 'conflict') throw error
    })
  }
  return readName(store)
}

async function readName(store: ObjectStore): Promise<string> {
  return (await readObject(store, KEY, CHARS)).toString('latin1')
}
