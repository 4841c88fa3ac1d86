import { statfs } from 'node:fs/promises'

/** The free room of the disks that the files of batches are on. */
export class DiskRoom {
  /** What must stay free. */
  readonly reserveBytes: number
  private readonly directories: readonly string[]

  /** @param directories on these disks; a store that is a bucket has none */
  constructor(directories: readonly string[], reserveBytes: number) {
    this.directories = directories
    this.reserveBytes = reserveBytes
  }

  /** Whether so many further bytes leave the reserve on each disk. */
  async has(bytes: number): Promise<boolean> {
    for (const directory of this.directories) {
      // One that is away has no room to tell of: its use reports it.
      const facts = await statfs(directory).catch(() => null)
      if (facts === null) continue
      if (facts.bavail * facts.bsize < bytes + this.reserveBytes) return false
    }
    return true
  }
}
