import { AppError } from '../../errors.ts'
import { sortedInTurns } from '../performance/statistics/in-turns.ts'
import type { PdGroup } from './pd-group.ts'

/** Different scores of a table. */
export const SCORES_MAX = 1_000_000
/** MiB that a table takes with all of them. */
export const TABLE_MIB = 100

const ROOM_FIRST = 1_024
/** Numbers that are kept of each score, by name. */
const FIELDS = 5
const N_APPROVED = 0
const N_DECLINED = 1
/** Sums of the champion's probabilities. */
const PD_APPROVED = 2
const PD_DECLINED = 3
/** The challenger's probability, which follows from the score. */
const PD = 4

/** Applicants by the challenger's score and by what the champion decides. */
export class ScoreTable {
  private readonly places = new Map<number, number>()
  private values = new Float64Array(FIELDS * ROOM_FIRST)
  private readonly scoresMax: number

  constructor(scoresMax = SCORES_MAX) {
    this.scoresMax = scoresMax
  }

  /** @throws AppError `invalid_request` when there are too many different scores */
  add(score: number, pd: number, isApproved: boolean, championPd: number): void {
    const place = FIELDS * this.findPlace(score)
    const { values } = this
    const [n, sum] = isApproved ? [N_APPROVED, PD_APPROVED] : [N_DECLINED, PD_DECLINED]
    values[place + n] = (values[place + n] ?? 0) + 1
    values[place + sum] = (values[place + sum] ?? 0) + championPd
    values[place + PD] = pd
  }

  /** All scores, rising. */
  sorted(): Promise<Float64Array> {
    return sortedInTurns(Float64Array.from(this.places.keys()))
  }

  countAt(score: number): number {
    const place = FIELDS * (this.places.get(score) ?? 0)
    return (this.values[place + N_APPROVED] ?? 0) + (this.values[place + N_DECLINED] ?? 0)
  }

  /** The challenger's probability at this score; NaN for none. */
  pdAt(score: number): number {
    return this.values[FIELDS * (this.places.get(score) ?? 0) + PD] ?? Number.NaN
  }

  /** Adds the applicants with this score to groups of the champion's and its own probabilities. */
  addTo(score: number, isApproved: boolean, champion: PdGroup, challenger: PdGroup): void {
    const place = FIELDS * (this.places.get(score) ?? 0)
    const [n, sum] = isApproved ? [N_APPROVED, PD_APPROVED] : [N_DECLINED, PD_DECLINED]
    const count = this.values[place + n] ?? 0
    if (count === 0) return
    champion.add(this.values[place + sum] ?? 0, count)
    challenger.add(count * this.pdAt(score), count)
  }

  private findPlace(score: number): number {
    const known = this.places.get(score)
    if (known !== undefined) return known
    const place = this.places.size
    if (place >= this.scoresMax) {
      const message =
        'the challenger has too many different scores in the period: choose a shorter one, or rule=explicit with challenger_cutoff'
      throw new AppError('invalid_request', message)
    }
    this.places.set(score, place)
    if (FIELDS * (place + 1) > this.values.length) {
      const larger = new Float64Array(2 * this.values.length)
      larger.set(this.values)
      this.values = larger
    }
    return place
  }
}
