import { DirectoryStore } from './directory-store.ts'
import { type ObjectStore, ObjectStoreError } from './object-store.ts'
import { openS3Client, type S3Settings } from './s3-client.ts'
import { S3Store } from './s3-store.ts'
import { parseObjectLocation } from './settings.ts'

/**
 * Opens the objects below `file:///directory` or `s3://bucket/prefix`. Nothing is read or written
 * yet.
 *
 * @throws ObjectStoreError `refused` if the text is neither, or the client of S3 is not installed
 */
export async function openObjectStore(url: string, s3: S3Settings): Promise<ObjectStore> {
  const location = parseObjectLocation(url)
  if (location === null) {
    throw new ObjectStoreError('refused', 'a store is file:///directory or s3://bucket/prefix')
  }
  if (location.kind === 'directory') return new DirectoryStore(location.path)
  return new S3Store({ ...location, client: await openS3Client(s3) })
}
