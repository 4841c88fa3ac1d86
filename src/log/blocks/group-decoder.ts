import type { ModelsById } from '../record/model-source.ts'
import { ID_NULL, ID_NUMBER, ID_UTF16, type RecordHead } from '../record/record-v4.ts'
import { ByteReader } from './bytes.ts'
import { laterDeltas, type NameHasher, type ResultColumns, readBytes } from './columns.ts'
import { ModelColumns } from './model-decoder.ts'

const NO_NUMBERS = new Float64Array(0)

/** The requests of a block with the same head: one state of one deployment. */
export class BlockGroup {
  readonly head: RecordHead
  readonly headBytes: Buffer
  /** The request of each row, as an index in the block. */
  readonly requestOfRow: Int32Array
  readonly idKinds: Uint8Array
  /** Champion first. */
  readonly models: readonly ModelColumns[]
  /** True if a row has a record id. */
  readonly hasIds: boolean
  /**
   * Index of a number among the numbers, and position of a text in the bytes; empty where no
   * row has an id.
   */
  private readonly idPlaces: Uint32Array
  private readonly numbers: () => Float64Array
  private readonly bytes: Buffer

  constructor(head: RecordHead, headBytes: Buffer, requestOfRow: Int32Array, from: ByteReader) {
    this.head = head
    this.headBytes = headBytes
    this.requestOfRow = requestOfRow
    this.bytes = from.bytes
    this.idKinds = readBytes(from, this.rows)
    const { ids, numbers } = countIds(this.idKinds)
    this.hasIds = ids > 0
    this.idPlaces = new Uint32Array(ids > 0 ? this.rows : 0)
    this.numbers = numbers > 0 ? laterDeltas(from, numbers) : () => NO_NUMBERS
    if (ids > 0) this.findIds(from)
    this.models = head.models.map((model) => new ModelColumns(model, this.rows, from))
  }

  get engineVersion(): number {
    return this.head.engineVersion
  }

  get teamId(): string {
    return this.head.teamId
  }

  get deploymentId(): string {
    return this.head.deploymentId
  }

  get cacheVersion(): number {
    return this.head.cacheVersion
  }

  /** Number of applicants. */
  get rows(): number {
    return this.requestOfRow.length
  }

  /** A number, or the bytes of a text, as in a record without their length; null for none. */
  readId(row: number): number | Buffer | null {
    const kind = this.idKinds[row] ?? ID_NULL
    if (kind === ID_NULL) return null
    const place = this.idPlaces[row] ?? 0
    if (kind === ID_NUMBER) return this.numbers()[place] ?? 0
    return new ByteReader(this.bytes, place).block()
  }

  /** Hands over the record id of a row. @returns false without one */
  hashId(row: number, hasher: NameHasher): boolean {
    const kind = this.idKinds[row] ?? ID_NULL
    if (kind === ID_NULL) return false
    const place = this.idPlaces[row] ?? 0
    if (kind === ID_NUMBER) {
      hasher.ofText(String(this.numbers()[place] ?? 0))
      return true
    }
    const from = new ByteReader(this.bytes, place)
    const length = from.varint()
    const end = from.position + length
    if (kind === ID_UTF16) hasher.ofText(this.bytes.toString('utf16le', from.position, end))
    else hasher.ofUtf8(this.bytes, from.position, end)
    return true
  }

  results(position: number, models: ModelsById): ResultColumns {
    const stored = this.models[position]
    if (stored === undefined) throw new RangeError('the block has no such model')
    return stored.results(models)
  }

  private findIds(from: ByteReader): void {
    const { idKinds, idPlaces } = this
    let numbers = 0
    for (let row = 0; row < idKinds.length; row++) {
      const kind = idKinds[row]
      if (kind === ID_NULL) continue
      if (kind === ID_NUMBER) idPlaces[row] = numbers++
      else {
        idPlaces[row] = from.position
        from.skipBlock()
      }
    }
  }
}

function countIds(kinds: Uint8Array): { readonly ids: number; readonly numbers: number } {
  let [ids, numbers] = [0, 0]
  for (let row = 0; row < kinds.length; row++) {
    const kind = kinds[row]
    if (kind !== ID_NULL) ids++
    if (kind === ID_NUMBER) numbers++
  }
  return { ids, numbers }
}
