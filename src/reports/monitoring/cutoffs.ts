import type { Cutoffs } from '../../../schemas/monitoring.ts'
import type { PartReader, ScannedColumns } from '../../log/index.ts'
import { lazily, takersOfModel } from './model-tally.ts'
import { type Direction, PdGroup } from './pd-group.ts'

interface CutoffOptions {
  readonly modelId: string
  readonly cutoffs: readonly number[]
  readonly direction: Direction
  /** Names in the order of the answer. */
  readonly grades: readonly string[]
}

/** Width of a band in points; it grows tenfold while there are more bands than `BANDS_MAX`. */
const BAND_POINTS = 20
const BANDS_MAX = 1_000
const WIDENING = 10

/** Counts what each cut-off would approve, in memory that does not grow with the applicants. */
export class CutoffTally {
  private readonly options: CutoffOptions
  private readonly approved: readonly PdGroup[]
  private readonly declined: readonly PdGroup[]
  private readonly grades = new Map<string | null, PdGroup>()
  private bands = new Map<number, PdGroup>()
  private bandPoints = BAND_POINTS
  private n = 0

  constructor(options: CutoffOptions) {
    this.options = options
    this.approved = options.cutoffs.map(() => new PdGroup())
    this.declined = options.cutoffs.map(() => new PdGroup())
    for (const grade of options.grades) this.grades.set(grade, new PdGroup())
  }

  /** See `ApplicantReader`. */
  get takers(): string {
    return takersOfModel({ modelId: this.options.modelId, population: 'all' })
  }

  readonly makeReader = (columns: ScannedColumns): PartReader | null => {
    const model = columns.models.find(({ modelId }) => modelId === this.options.modelId)
    if (model === undefined) return null
    const { scored } = model
    return {
      takes: (row) => scored[row] === 1,
      add: lazily(() => {
        const { scores, pds, grades, gradeNames } = model
        /** Groups of this part by the index of the grade; -1 for none. */
        const groups = new Map<number, PdGroup>()
        return (rows) => {
          for (let index = 0; index < rows.length; index++) {
            const row = rows[index] ?? 0
            const pd = pds[row] ?? Number.NaN
            const grade = grades[row] ?? -1
            let group = groups.get(grade)
            if (group === undefined) {
              group = this.findGroup(gradeNames[grade] ?? null)
              groups.set(grade, group)
            }
            group.add(pd)
            this.add(scores[row] ?? 0, pd)
          }
        }
      }),
    }
  }

  private findGroup(grade: string | null): PdGroup {
    const known = this.grades.get(grade)
    if (known !== undefined) return known
    const group = new PdGroup()
    this.grades.set(grade, group)
    return group
  }

  /** Counts an applicant whose grade is counted. */
  private add(score: number, pd: number): void {
    const { cutoffs, direction } = this.options
    this.n++
    for (let index = 0; index < cutoffs.length; index++) {
      const cutoff = cutoffs[index] ?? Number.NaN
      const groups = direction * score >= direction * cutoff ? this.approved : this.declined
      groups[index]?.add(pd)
    }
    const place = Math.floor(score / this.bandPoints)
    let band = this.bands.get(place)
    if (band === undefined) {
      band = new PdGroup()
      this.bands.set(place, band)
    }
    band.add(pd)
    if (this.bands.size > BANDS_MAX) this.widen()
  }

  /** The answer, without the id of the model. */
  report(): Pick<Cutoffs, 'n' | 'cutoffs' | 'bands' | 'grades'> {
    const { n, bandPoints } = this
    const readFields = (group: PdGroup) => ({
      n: group.n,
      share: n === 0 ? null : group.n / n,
      mean_pd: group.meanPd,
      expected_bads: group.expectedBads,
    })
    return {
      n,
      cutoffs: this.options.cutoffs.map((cutoff, index) => {
        const approved = this.approved[index] ?? new PdGroup()
        const declined = this.declined[index] ?? new PdGroup()
        return {
          cutoff,
          approval_rate: approved.computeShare(n),
          approved: approved.n,
          declined: declined.n,
          mean_pd_approved: approved.meanPd,
          mean_pd_declined: declined.meanPd,
          expected_bads_approved: approved.expectedBads,
          expected_bads_declined: declined.expectedBads,
        }
      }),
      bands: [...this.bands]
        .sort(([a], [b]) => a - b)
        .map(([place, band]) => ({
          min: place * bandPoints,
          max: (place + 1) * bandPoints,
          ...readFields(band),
        })),
      grades: [...this.grades].map(([grade, group]) => ({ grade, ...readFields(group) })),
    }
  }

  private widen(): void {
    const wide = new Map<number, PdGroup>()
    for (const [place, band] of this.bands) {
      const wider = Math.floor(place / WIDENING)
      const known = wide.get(wider)
      if (known === undefined) wide.set(wider, band)
      else known.merge(band)
    }
    this.bands = wide
    this.bandPoints *= WIDENING
    if (wide.size > BANDS_MAX) this.widen()
  }
}
