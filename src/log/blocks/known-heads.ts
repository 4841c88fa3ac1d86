import { detach } from '../../platform/bytes/detach.ts'
import { LeafTexts } from '../proof/leaf-texts.ts'
import { HEAD_AT, type RecordHead, readHeadV4 } from '../record/record-v4.ts'

/** Ten thousand deployments have less; what is made of heads takes ten times as much. */
const HEAD_BYTES_MAX = 2 * 1024 * 1024

/** A head of records, with what follows from it. */
export interface KnownHead {
  readonly bytes: Buffer
  readonly head: RecordHead
  readonly leafTexts: LeafTexts
}

/** The heads of the records that were read lately: each is read once, and not for each record. */
export class KnownHeads {
  /** By the head's bytes as latin1. */
  private readonly heads = new Map<string, KnownHead>()
  private heldBytes = 0

  /**
   * Finds the head of a record of version 4.
   *
   * @throws Error as `readHeadV4`
   */
  of(payload: Buffer): KnownHead {
    const end = HEAD_AT + payload.readUInt16LE(1)
    if (end > payload.length) throw new Error('the record is cut off')
    const name = payload.toString('latin1', HEAD_AT, end)
    const found = this.heads.get(name)
    if (found !== undefined) return found
    const bytes = detach(payload.subarray(HEAD_AT, end))
    const head = readHeadV4(bytes)
    const known = { bytes, head, leafTexts: new LeafTexts(head) }
    // All leave at once: one that is still needed is read again.
    if (this.heldBytes + bytes.length > HEAD_BYTES_MAX) {
      this.heads.clear()
      this.heldBytes = 0
    }
    this.heads.set(name, known)
    this.heldBytes += bytes.length
    return known
  }
}
