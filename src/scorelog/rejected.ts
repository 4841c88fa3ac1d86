import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/** Files with what can't be drained, one for each record or damaged stretch, for a person to look at. */
export class RejectedFiles {
  readonly path: string

  constructor(path: string) {
    this.path = path
  }

  /**
   * Keeps a payload with the reason in a line before it; the file is whole and on the disk, or not there.
   *
   * @param name the same for the same payload, which is then kept once
   */
  keep(name: string, payload: Buffer, reason: string): void {
    mkdirSync(this.path, { recursive: true, mode: 0o700 })
    const file = join(this.path, `${name}.rejected`)
    const descriptor = openSync(`${file}.tmp`, 'w', 0o600)
    try {
      const line = `${JSON.stringify({ reason })}\n`
      const bytes = Buffer.concat([Buffer.from(line), payload])
      for (let written = 0; written < bytes.length; )
        written += writeSync(descriptor, bytes, written)
      fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
    renameSync(`${file}.tmp`, file)
  }
}
