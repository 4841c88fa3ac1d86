import { type CompiledModel, ScoreSheet } from '../engine/index.ts'

/** What of a model's results can be prepared: bins as numbers, grades as JSON. */
export class ModelParts {
  /** Index of the bin whose points each slot of the model takes, -1 for none. */
  readonly binOfSlot: Int16Array
  private readonly grades: ReadonlyMap<string | null, string>
  /** Most bytes that one result can take. */
  readonly resultBytesMax: number

  constructor(model: CompiledModel) {
    this.binOfSlot = binsOf(model)
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

function binsOf(model: CompiledModel): Int16Array {
  const { featureNames, slotStart } = model
  const sheet = new ScoreSheet(model)
  const bins = new Int16Array(slotStart[featureNames.length] ?? 0)
  for (const feature of featureNames.keys()) {
    const end = slotStart[feature + 1] ?? 0
    for (let slot = slotStart[feature] ?? 0; slot < end; slot++) {
      sheet.slots[feature] = slot
      bins[slot] = sheet.binOf(feature)
    }
  }
  return bins
}
