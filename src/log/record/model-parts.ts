import type { CompiledModel } from '../../engine/index.ts'
import { RESULT_HEADER_BYTES, SHA256_BYTES } from './record-v4.ts'

/** The facts of a model that its results in the score log need, prepared once. */
export class ModelParts {
  /** SHA-256 of the spec's stored text. */
  readonly specSha256: Uint8Array
  readonly features: number
  readonly cellOfSlot: Uint16Array
  readonly bytesPerCell: 1 | 2
  readonly resultBytes: number

  constructor(model: CompiledModel, specSha256: Uint8Array) {
    if (specSha256.length !== SHA256_BYTES) throw new Error('a SHA-256 has 32 bytes')
    this.specSha256 = specSha256
    this.features = model.featureNames.length
    this.cellOfSlot = model.cellOfSlot
    this.bytesPerCell = model.bytesPerCell
    this.resultBytes = RESULT_HEADER_BYTES + this.features * this.bytesPerCell
  }
}
