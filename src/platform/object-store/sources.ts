import { createHash, hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { ObjectSource } from './object-store.ts'

/** An object whose bytes are in memory. They are hashed on first use: a directory needs no hash. */
export function bytesSource(bytes: Uint8Array): ObjectSource {
  let sha256: Buffer | null = null
  return {
    bytes: bytes.length,
    get sha256() {
      sha256 ??= hash('sha256', bytes, 'buffer')
      return sha256
    },
    open: async function* () {
      if (bytes.length > 0) yield bytes
    },
  }
}

/** An object whose bytes are in a file, which must not change. It is read once for its hash. */
export async function fileSource(path: string): Promise<ObjectSource> {
  const sha256 = createHash('sha256')
  for await (const chunk of createReadStream(path)) sha256.update(chunk)
  const { size } = await stat(path)
  return { bytes: size, sha256: sha256.digest(), open: () => createReadStream(path) }
}
