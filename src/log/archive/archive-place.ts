import { openObjectStore } from '../../platform/object-store/open-object-store.ts'
import type { S3Settings } from '../../platform/object-store/s3-client.ts'
import { type ArchiveBytes, StoredArchiveBytes } from './archive-bytes.ts'

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
