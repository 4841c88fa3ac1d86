import { AppError } from '../../errors.ts'
import { type ObjectStore, ObjectStoreError } from '../../platform/object-store/object-store.ts'

/** Reads parts of the files of the archive. */
export interface ArchiveBytes {
  /**
   * @returns null if the file has gone: another generation has taken its place
   * @throws AppError `unavailable`
   */
  read(fileKey: string, from: number, bytes: number): Promise<Buffer | null>
}

/** Longest time of a read: the caller of the API waits for it. */
const READ_MS = 7_000

/** Files in a store of objects, or in none where the service has no archive. */
export class StoredArchiveBytes implements ArchiveBytes {
  private readonly store: ObjectStore | null

  constructor(store: ObjectStore | null) {
    this.store = store
  }

  async read(fileKey: string, from: number, bytes: number): Promise<Buffer | null> {
    const { store } = this
    if (store === null) {
      throw new AppError(
        'unavailable',
        'this part of the log is in the archive, which this process does not have: set SCORE_LOG_ARCHIVE',
      )
    }
    const late = Promise.withResolvers<never>()
    const timer = setTimeout(() => late.reject(awayError()), READ_MS)
    const reading = store.read(fileKey, { from, bytes })
    // It may end after the deadline.
    reading.catch(() => undefined)
    try {
      return await Promise.race([reading, late.promise])
    } catch (error) {
      if (!(error instanceof ObjectStoreError)) throw error
      if (error.failure === 'missing') return null
      throw awayError(error)
    } finally {
      clearTimeout(timer)
    }
  }
}

function awayError(cause?: unknown): AppError {
  const message = 'the archive of the score log is away, try again later'
  return new AppError('unavailable', message, { cause })
}
