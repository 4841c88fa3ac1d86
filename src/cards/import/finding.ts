import type { CompiledModel, ModelScore, ScorecardSpec } from '../../engine/index.ts'
import { binLabel } from './coverage.ts'

/** Two differences that are closer are one: the engine adds doubles in its own order. */
const SAME_POINTS = 1e-9
const BINS_NAMED_MAX = 3

/** Finds what the applicants whose scores differ have in common. */
export class DifferenceFinder {
  private readonly spec: ScorecardSpec
  private readonly model: CompiledModel
  /** Differing applicants of each slot. */
  private readonly rows: Float64Array
  private count = 0
  private least = Number.POSITIVE_INFINITY
  private most = Number.NEGATIVE_INFINITY

  constructor(spec: ScorecardSpec, model: CompiledModel) {
    this.spec = spec
    this.model = model
    this.rows = new Float64Array(model.points.length)
  }

  /**
   * Counts an applicant who differs.
   *
   * @param points score of the engine minus that of the sample
   */
  add({ slots }: ModelScore, points: number): void {
    this.count++
    this.least = Math.min(this.least, points)
    this.most = Math.max(this.most, points)
    for (const slot of slots) this.rows[slot] = (this.rows[slot] ?? 0) + 1
  }

  /**
   * @param rowsOfSlots all applicants of each slot
   * @param total all applicants
   * @returns a sentence without its point; null if they have nothing in common
   */
  find(rowsOfSlots: Float64Array, total: number): string | null {
    const { count } = this
    if (count === 0) return null
    const by = this.constantText()
    if (count === total) {
      return by === null || this.most === 0
        ? null
        : `all ${grouped(count)} applicants differ by exactly ${by}: the base points or the intercept differ`
    }
    const bins = this.commonBins(rowsOfSlots)
    if (bins === null) return null
    return `all ${grouped(count)} that differ are in ${bins}${by === null ? '' : `, by exactly ${by}`}`
  }

  private constantText(): string | null {
    const { least, most } = this
    if (most - least > SAME_POINTS || Math.abs(most) <= SAME_POINTS) return null
    const points = Number(((least + most) / 2).toPrecision(12))
    return `${points > 0 ? '+' : ''}${points} points`
  }

  /** The feature of which fewest bins hold all that differ, and nobody who agrees if possible. */
  private commonBins(rowsOfSlots: Float64Array): string | null {
    const { slotStart } = this.model
    let best: {
      readonly feature: number
      readonly slots: readonly number[]
      readonly agreeing: number
    } | null = null
    for (const feature of this.spec.features.keys()) {
      const slots: number[] = []
      let agreeing = 0
      for (let slot = slotStart[feature] ?? 0; slot < (slotStart[feature + 1] ?? 0); slot++) {
        const differing = this.rows[slot] ?? 0
        if (differing === 0) continue
        slots.push(slot)
        agreeing += (rowsOfSlots[slot] ?? 0) - differing
      }
      if (slots.length > BINS_NAMED_MAX) continue
      if (best === null || agreeing < best.agreeing) best = { feature, slots, agreeing }
    }
    if (best === null) return null
    const { feature, slots, agreeing } = best
    // Bins that hold as many who agree say nothing.
    if (agreeing > this.count) return null
    const names = slots.map((slot) => this.slotText(feature, slot))
    return `${this.spec.features[feature]?.name} ${names.join(' or ')}`
  }

  private slotText(feature: number, slot: number): string {
    const { slotStart, binOfSlot } = this.model
    const offset = slot - (slotStart[feature] ?? 0)
    const outcome = ['a category of no bin', 'a number of no bin', 'a text', 'a missing value'][
      offset
    ]
    return outcome ?? binLabel(this.spec.features[feature]?.bins[binOfSlot[slot] ?? -1]) ?? ''
  }
}

/** Writes a count with commas between thousands. */
function grouped(count: number): string {
  return count.toLocaleString('en-US')
}
