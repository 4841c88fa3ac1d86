/** Bytes of an id of the service: `req_` and 22 characters. */
const ID_BYTES = 26
const ROOM_FIRST = 1_024

/** Request ids by number, 26 bytes each; a few of another length as they are. */
export class RequestIdList {
  private bytes = Buffer.alloc(ROOM_FIRST * ID_BYTES)
  private readonly others = new Map<number, string>()

  /** The id; empty for one that was not set. */
  at(index: number): string {
    const other = this.others.get(index)
    if (other !== undefined) return other
    const start = index * ID_BYTES
    if (this.bytes[start] === 0) return ''
    return this.bytes.toString('latin1', start, start + ID_BYTES)
  }

  set(index: number, id: string): void {
    const end = (index + 1) * ID_BYTES
    if (end > this.bytes.length) this.grow(end)
    if (id.length === ID_BYTES) {
      // Ids are read from bytes of Latin-1.
      this.bytes.write(id, end - ID_BYTES, 'latin1')
      if (this.others.size > 0) this.others.delete(index)
    } else this.others.set(index, id)
  }

  private grow(end: number): void {
    const larger = Buffer.alloc(Math.max(2 * this.bytes.length, end))
    this.bytes.copy(larger)
    this.bytes = larger
  }
}
