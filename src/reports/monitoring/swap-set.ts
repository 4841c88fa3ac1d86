import type { SwapSet } from '../../../schemas/monitoring.ts'
import type { SWAP_RULES } from '../../../schemas/monitoring-query.ts'
import { AppError } from '../../errors.ts'
import { TurnTaker } from '../../platform/turn-taker.ts'
import { sortedInTurns } from '../performance/statistics/in-turns.ts'
import { pairReader, takersOfPair } from './migration.ts'
import { type Direction, PdGroup } from './pd-group.ts'
import { mcNemar } from './statistics/significance.ts'

export type SwapRule = (typeof SWAP_RULES)[number]

interface SwapOptions {
  readonly challengerId: string
  readonly rule: SwapRule
  readonly cutoff: number
  /** With the rule `explicit`, and only with it. */
  readonly challengerCutoff: number | null
  readonly findDirection: (modelId: string) => Promise<Direction>
  readonly challengerDirection: Direction
  /** See `SCORES_MAX`. */
  readonly scoresMax?: number
}

type Sums = Readonly<Record<'champion' | 'challenger', PdGroup>>

const newSums = (): Sums => ({ champion: new PdGroup(), challenger: new PdGroup() })

/** Rounding of a sum of probabilities, relative: equal bad rates must count as equal. */
const ROUNDING = 1e-12
const SCORES_A_LOOK = 1_000

/**
 * Counts whom a challenger would approve and decline instead of the champion. A score is approved
 * from the cut-off on; on a card with a negative pdo, up to it.
 */
export class SwapTally {
  private readonly options: SwapOptions
  private readonly championIds = new Set<string>()
  private readonly approvedByChampion = new PdGroup()
  private readonly cells = {
    both_approve: newSums(),
    swap_out: newSums(),
    swap_in: newSums(),
    both_decline: newSums(),
  }
  /** Null where the challenger's cut-off is known before the scan. */
  private readonly table: ScoreTable | null
  private challengerCutoff: number | null

  constructor(options: SwapOptions) {
    this.options = options
    const { rule, cutoff, challengerCutoff } = options
    const isKnown = rule === 'same_cutoff' || rule === 'explicit'
    this.challengerCutoff = rule === 'same_cutoff' ? cutoff : challengerCutoff
    this.table = isKnown ? null : new ScoreTable(options.scoresMax ?? SCORES_MAX)
  }

  /** See `ApplicantReader`. */
  get memoryMiB(): number {
    return this.table === null ? 1 : TABLE_MIB
  }

  /** See `ApplicantReader`. */
  get takers(): string {
    return takersOfPair(this.options.challengerId)
  }

  /** Reads parts of a scan. */
  get makeReader() {
    const { challengerId, cutoff, findDirection } = this.options
    return pairReader(challengerId, findDirection, ({ champion, challenger, direction }) => {
      const { scores: championScores, pds: championPds } = champion
      const { scores, pds } = challenger
      return (rows) => {
        this.championIds.add(champion.modelId)
        for (let index = 0; index < rows.length; index++) {
          const row = rows[index] ?? 0
          const isApproved = direction * (championScores[row] ?? 0) >= direction * cutoff
          const championPd = championPds[row] ?? Number.NaN
          if (isApproved) this.approvedByChampion.add(championPd)
          this.add(isApproved, championPd, scores[row] ?? 0, pds[row] ?? Number.NaN)
        }
      }
    })
  }

  /**
   * The answer.
   *
   * @throws AppError `invalid_request` for `same_bad_rate` without probabilities
   */
  async report(): Promise<Omit<SwapSet, 'from' | 'to' | 'dedupe'>> {
    if (this.table !== null) await this.cutTable(this.table)
    const { both_approve, swap_out, swap_in, both_decline } = this.cells
    const sums = [both_approve, swap_out, swap_in, both_decline]
    const n = sums.reduce((total, { champion }) => total + champion.n, 0)
    const computeRate = (...of: readonly Sums[]) =>
      n === 0 ? null : of.reduce((total, { champion }) => total + champion.n, 0) / n
    const findCell = ({ champion, challenger }: Sums) => ({
      n: champion.n,
      share: champion.computeShare(n),
      mean_pd_champion: champion.meanPd,
      mean_pd_challenger: challenger.meanPd,
      expected_bads_champion: champion.expectedBads,
      expected_bads_challenger: challenger.expectedBads,
    })
    const test = mcNemar(swap_out.champion.n, swap_in.champion.n)
    return {
      n,
      rule: this.options.rule,
      cutoff: this.options.cutoff,
      challenger_cutoff: this.challengerCutoff,
      champion_model_ids: [...this.championIds].sort(),
      approval_rate: computeRate(both_approve, swap_out),
      challenger_approval_rate: computeRate(both_approve, swap_in),
      cells: {
        both_approve: findCell(both_approve),
        swap_out: findCell(swap_out),
        swap_in: findCell(swap_in),
        both_decline: findCell(both_decline),
      },
      mcnemar: test === null ? null : { chi2: test.chi2, p_value: test.pValue },
    }
  }

  private add(isApproved: boolean, championPd: number, score: number, pd: number): void {
    if (this.table !== null) {
      this.table.add(score, pd, isApproved, championPd)
      return
    }
    const { champion, challenger } = this.findCell(isApproved, score)
    champion.add(championPd)
    challenger.add(pd)
  }

  private findCell(isApproved: boolean, score: number): Sums {
    const { cells, challengerCutoff, options } = this
    const direction = options.challengerDirection
    const isTaken = challengerCutoff !== null && direction * score >= direction * challengerCutoff
    if (isApproved) return isTaken ? cells.both_approve : cells.swap_out
    return isTaken ? cells.swap_in : cells.both_decline
  }

  /** Finds the challenger's cut-off, and fills the cells. */
  private async cutTable(table: ScoreTable): Promise<void> {
    const turns = new TurnTaker()
    const rising = await table.sorted()
    const bestFirst = this.options.challengerDirection > 0 ? rising.reverse() : rising
    const fits = this.makeLimit()
    const taken = new PdGroup()
    let isOpen = true
    for (const [index, score] of bestFirst.entries()) {
      const count = table.countAt(score)
      taken.add(count * table.pdAt(score), count)
      isOpen &&= fits(taken)
      if (isOpen) this.challengerCutoff = score
      if (index % SCORES_A_LOOK === 0) await turns.giveWay()
    }
    for (const [index, score] of bestFirst.entries()) {
      for (const isApproved of [true, false]) {
        const { champion, challenger } = this.findCell(isApproved, score)
        table.addTo(score, isApproved, champion, challenger)
      }
      if (index % SCORES_A_LOOK === 0) await turns.giveWay()
    }
  }

  /** Tells whether the challenger may approve a group. A worse score adds a worse probability. */
  private makeLimit(): (taken: PdGroup) => boolean {
    const { approvedByChampion, options } = this
    if (options.rule === 'same_approval_rate') return ({ n }) => n <= approvedByChampion.n
    const limit = approvedByChampion.meanPd
    if (approvedByChampion.n === 0) return () => false
    return ({ meanPd }) => {
      if (limit === null || meanPd === null) {
        throw new AppError('invalid_request', 'rule=same_bad_rate needs models with probabilities')
      }
      return meanPd <= limit * (1 + ROUNDING)
    }
  }
}

/** Different scores of a table. */
const SCORES_MAX = 1_000_000
/** MiB that a table takes with all of them. */
const TABLE_MIB = 100

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
class ScoreTable {
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
