import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs'
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import type { RecordV4 } from '../record/record-v4.ts'
import { FRAME_HEADER_BYTES, sealFrame } from '../spool/frames.ts'

/** Buffer for a copy, so that memory does not grow with the file. */
const COPIED_BYTES = 1024 * 1024

/** Files for an operator to examine: one for each record or damaged range that can't be drained. */
export class DeadLetters {
  readonly path: string

  constructor(path: string) {
    this.path = path
  }

  /**
   * Stores a payload, with the reason in a line before it. The file is complete and synced, or
   * absent.
   *
   * @param name the same for the same payload, which is then stored once
   */
  store(name: string, payload: Buffer, reason: string): void {
    mkdirSync(this.path, { recursive: true, mode: 0o700 })
    const file = join(this.path, `${name}.rejected`)
    const descriptor = openSync(`${file}.tmp`, 'w', 0o600)
    try {
      for (const bytes of [reasonLine(reason), payload]) {
        for (let written = 0; written < bytes.length; )
          written += writeSync(descriptor, bytes, written)
      }
      fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
    renameSync(`${file}.tmp`, file)
  }

  /** Stores records in one file: one as it is, several as a segment has them. */
  storeRecords(records: readonly RecordV4[], reason: string): void {
    const [first, ...others] = records
    if (first === undefined) return
    const payload = others.length === 0 ? first.payload : framed(records)
    // A batch that is repeated begins with the same record.
    this.store(first.requestId, payload, reason)
  }

  /**
   * Stores a payload as `store` does, without loading it into memory.
   *
   * @param source file and byte range of the payload; `start` is included, `end` is not
   * @param checksum CRC-32 of the payload
   * @returns false if the payload has another checksum; then nothing is stored
   */
  async storePart(
    name: string,
    { path, start, end }: { readonly path: string; readonly start: number; readonly end: number },
    { checksum, reason }: { readonly checksum: number; readonly reason: string },
  ): Promise<boolean> {
    await mkdir(this.path, { recursive: true, mode: 0o700 })
    const file = join(this.path, `${name}.rejected`)
    const source = await open(path, 'r')
    const target = await open(`${file}.tmp`, 'w', 0o600)
    let isWhole = false
    try {
      await target.writeFile(reasonLine(reason))
      isWhole = (await copy(source, target, { start, end })) === checksum
      await target.sync()
    } finally {
      await source.close()
      await target.close()
      if (!isWhole) await rm(`${file}.tmp`, { force: true })
    }
    if (isWhole) await rename(`${file}.tmp`, file)
    return isWhole
  }
}

function framed(records: readonly RecordV4[]): Buffer {
  const frames = records.map(({ payload }) => {
    const frame = Buffer.concat([Buffer.alloc(FRAME_HEADER_BYTES), payload])
    sealFrame(frame, 0, frame.length)
    return frame
  })
  return Buffer.concat(frames)
}

function reasonLine(reason: string): Buffer {
  return Buffer.from(`${JSON.stringify({ reason })}\n`)
}

/** @returns the CRC-32 of the copied bytes */
async function copy(
  source: FileHandle,
  target: FileHandle,
  { start, end }: { readonly start: number; readonly end: number },
): Promise<number> {
  const bytes = Buffer.allocUnsafe(COPIED_BYTES)
  let checksum = 0
  for (let at = start; at < end; ) {
    const { bytesRead } = await source.read(bytes, 0, Math.min(bytes.length, end - at), at)
    if (bytesRead === 0) break
    const part = bytes.subarray(0, bytesRead)
    checksum = crc32(part, checksum)
    await target.writeFile(part)
    at += bytesRead
  }
  return checksum
}
