import { statfs } from 'node:fs/promises'

export class DiskRoom {
  /** Bytes that must stay free. */
  readonly reserveBytes: number
  private readonly disks: ReadonlyArray<() => Promise<number>>

  /** @param disks tell their free bytes; a store that is a bucket has none */
  constructor(disks: ReadonlyArray<() => Promise<number>>, reserveBytes: number) {
    this.disks = disks
    this.reserveBytes = reserveBytes
  }

  /** Tells whether so many further bytes leave the reserve on each disk. */
  async has(bytes: number): Promise<boolean> {
    for (const freeBytes of this.disks) {
      // One that is away has no room to tell of: its use reports it.
      const free = await freeBytes().catch(() => null)
      if (free !== null && free < bytes + this.reserveBytes) return false
    }
    return true
  }
}

/** Free bytes of the disk of a local directory. */
export function localDisk(directory: string): () => Promise<number> {
  return async () => {
    const { bavail, bsize } = await statfs(directory)
    return bavail * bsize
  }
}
