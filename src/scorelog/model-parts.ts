import type { CompiledModel } from '../engine/index.ts'

/** What of a model's results can be prepared: bins as numbers, grades as JSON. */
export class ModelParts {
  /** Index of the bin whose points each slot of the model takes, -1 for none. */
  readonly binOfSlot: Int16Array
  private readonly grades: ReadonlyMap<string | null, string>
  /** Most bytes that one result can take. */
  readonly resultBytesMax: number

  constructor(model: CompiledModel) {
    this.binOfSlot = model.binOfSlot
    const names = [null, ...model.grades.names]
    this.grades = new Map(names.map((name) => [name, JSON.stringify(name)]))
    const gradeBytesMax = Math.max(...[...this.grades.values()].map((text) => 3 * text.length))
    this.resultBytesMax =
      PUNCTUATION_BYTES + 3 * NUMBER_BYTES + gradeBytesMax + BIN_BYTES * model.featureNames.length
  }

  gradeText(grade: string | null): string {
    return this.grades.get(grade) ?? 'null'
  }
}

const PUNCTUATION_BYTES = 16
/** `-2.2250738585072014e-308` has 24. */
export const NUMBER_BYTES = 25
/** Up to 1,000 bins, and a comma. */
const BIN_BYTES = 5
