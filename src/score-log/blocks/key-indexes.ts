import type { RecordScanner } from '../record/record-scanner.ts'

/** The keys of a block's records, each with an index. */
export class KeyIndexes {
  /** By the key's bytes as latin1. */
  private readonly indexes = new Map<string, number>()
  private readonly keys: Buffer[] = []
  private before: Buffer = Buffer.alloc(0)
  private indexBefore = -1

  get size(): number {
    return this.keys.length
  }

  /** In the order of their indexes. */
  all(): readonly Buffer[] {
    return this.keys
  }

  /** Index of the key of a record; often that of the record before. */
  indexOf({ payload, keyAt, referenceAt }: RecordScanner): number {
    const start = keyAt + 1
    if (this.indexBefore < 0 || !isAt(payload, start, referenceAt, this.before)) {
      const key = payload.toString('latin1', start, referenceAt)
      const index = this.indexes.get(key) ?? this.keys.length
      if (index === this.keys.length) {
        this.indexes.set(key, index)
        this.keys.push(Buffer.from(key, 'latin1'))
      }
      this.indexBefore = index
      this.before = this.keys[index] ?? this.before
    }
    return this.indexBefore
  }
}

/** A loop takes less than a call for so few bytes; keys differ at their end. */
function isAt(payload: Buffer, start: number, end: number, key: Buffer): boolean {
  if (end - start !== key.length) return false
  for (let at = key.length - 1; at >= 0; at--) {
    if (payload[start + at] !== key[at]) return false
  }
  return true
}
