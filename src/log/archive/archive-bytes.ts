import { AppError } from '../../errors.ts'
import { type ObjectStore, ObjectStoreError } from '../../platform/object-store/object-store.ts'
import { openObjectStore } from '../../platform/object-store/open-object-store.ts'
import type { S3Settings } from '../../platform/object-store/s3-client.ts'

/** Reads parts of the files of the archive. */
export interface ArchiveBytes {
  /**
   * @returns null if the file has gone: another generation has taken its place, or it was lost
   * @throws AppError `unavailable` if the archive as a whole can't be read
   */
  read(fileKey: string, from: number, bytes: number): Promise<Buffer | null>
  /** Counts that a file was found to be missing or damaged. */
  noteLost(fileKey: string, reason: LostReason): void
}

/** Faults of a file that readers need. */
export type LostReason = 'missing' | 'damaged'

/** Identity of an archive, in the store of objects: `src/log/archive/identity.ts` writes it. */
export const IDENTITY_KEY = '_archive.json'

/** Longest time of a read: the caller of the API waits for it. */
const READ_MS = 7_000

/** Files in a store of objects, or in none where the service has no archive. */
export class StoredArchiveBytes implements ArchiveBytes {
  private readonly store: ObjectStore | null
  private readonly onLost: (fileKey: string, reason: LostReason) => void
  /** Number of times that this process has found a file to be missing or damaged. */
  readonly lost = { missing: 0, damaged: 0 }

  constructor(
    store: ObjectStore | null,
    onLost: (fileKey: string, reason: LostReason) => void = () => undefined,
  ) {
    this.store = store
    this.onLost = onLost
  }

  noteLost(fileKey: string, reason: LostReason): void {
    this.lost[reason]++
    this.onLost(fileKey, reason)
  }

  async read(fileKey: string, from: number, bytes: number): Promise<Buffer | null> {
    const { store } = this
    if (store === null) {
      throw new AppError(
        'unavailable',
        'this part of the log is in the archive, which this process does not have: set SCORE_LOG_ARCHIVE',
      )
    }
    return inTime(async () => {
      try {
        return await store.read(fileKey, { from, bytes })
      } catch (error) {
        if (!(error instanceof ObjectStoreError) || error.failure !== 'missing') throw error
        // Where a volume is not mounted, every file is missing: the fault is not that of a file.
        if ((await store.head(IDENTITY_KEY)) === null) throw notMounted()
        return null
      }
    })
  }
}

/** @throws AppError `unavailable` if the store fails or takes too long */
async function inTime<T>(work: () => Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(awayError()), READ_MS)
  const working = work()
  // It may end after the deadline.
  working.catch(() => undefined)
  try {
    return await Promise.race([working, late.promise])
  } catch (error) {
    throw error instanceof ObjectStoreError ? awayError(error) : error
  } finally {
    clearTimeout(timer)
  }
}

function notMounted(): AppError {
  const message =
    'SCORE_LOG_ARCHIVE does not hold the archive: is its volume mounted, and its name right?'
  return new AppError('unavailable', message)
}

function awayError(cause?: unknown): AppError {
  const message = 'the archive of the score log is away, try again later'
  return new AppError('unavailable', message, { cause })
}

/** The archive's place, as it can be sent to a thread. */
export interface ArchivePlace {
  /** `file:///directory` or `s3://bucket/prefix`. */
  readonly url: string
  readonly s3: S3Settings
}

/** Opens the files of the archive for a thread that only reads them. */
export async function openArchiveBytes({ url, s3 }: ArchivePlace): Promise<ArchiveBytes> {
  return new StoredArchiveBytes(await openObjectStore(url, s3))
}
