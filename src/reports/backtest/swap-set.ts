import { mcNemar } from '../monitoring/statistics/significance.ts'

const CELLS = ['both_approve', 'swap_out', 'swap_in', 'both_decline', 'undecided'] as const
type CellName = (typeof CELLS)[number]

/** Probabilities lie between two bounds where a score does. */
interface PdRange {
  readonly low: number
  readonly high: number
}

interface CellSums {
  n: number
  champion: number
  challengerLow: number
  challengerHigh: number
}

/** The applicants whom the served model and the candidate approve at one cut-off. */
export class SwapSet {
  private readonly cutoff: number
  private readonly sign: number
  private readonly cells: Record<CellName, CellSums>
  private n = 0
  private approved = 0
  private candidateApproved = 0

  /** @param sign -1 for a candidate whose higher scores are a higher risk, else 1 */
  constructor(cutoff: number, sign: number) {
    this.cutoff = cutoff
    this.sign = sign
    const sums = () => ({ n: 0, champion: 0, challengerLow: 0, challengerHigh: 0 })
    this.cells = {
      both_approve: sums(),
      swap_out: sums(),
      swap_in: sums(),
      both_decline: sums(),
      undecided: sums(),
    }
  }

  add(
    served: { readonly score: number; readonly sign: number; readonly pd: number },
    candidate: { readonly low: number; readonly high: number; readonly pd: PdRange },
  ): void {
    const { cutoff, sign } = this
    const isApproved = served.sign * served.score >= served.sign * cutoff
    const ends = [candidate.low, candidate.high].map((score) => sign * score >= sign * cutoff)
    const [atLow = false, atHigh = false] = ends
    const cell = atLow !== atHigh ? 'undecided' : findCell(isApproved, atLow)
    const sums = this.cells[cell]
    sums.n++
    sums.champion += served.pd
    sums.challengerLow += candidate.pd.low
    sums.challengerHigh += candidate.pd.high
    this.n++
    if (isApproved) this.approved++
    if (atLow && atHigh) this.candidateApproved++
  }

  get fields() {
    const { n, cutoff, approved, candidateApproved } = this
    const { swap_in, swap_out, undecided } = this.cells
    const isDecided = undecided.n === 0
    return {
      n,
      rule: 'same_cutoff',
      cutoff,
      challenger_cutoff: cutoff,
      approval_rate: n === 0 ? null : approved / n,
      challenger_approval_rate: n === 0 || !isDecided ? null : candidateApproved / n,
      challenger_approval_rate_low: n === 0 ? null : candidateApproved / n,
      challenger_approval_rate_high: n === 0 ? null : (candidateApproved + undecided.n) / n,
      cells: Object.fromEntries(CELLS.map((name) => [name, cellFields(this.cells[name], n)])),
      mcnemar: isDecided ? mcNemarFields(swap_in.n, swap_out.n) : null,
    }
  }
}

function findCell(isApproved: boolean, isCandidateApproved: boolean): CellName {
  if (isApproved) return isCandidateApproved ? 'both_approve' : 'swap_out'
  return isCandidateApproved ? 'swap_in' : 'both_decline'
}

function cellFields({ n, champion, challengerLow, challengerHigh }: CellSums, total: number) {
  const isExact = challengerLow === challengerHigh
  const mean = (sum: number) => (n === 0 || Number.isNaN(sum) ? null : sum / n)
  const computeSum = (sum: number) => (Number.isNaN(sum) ? null : sum)
  return {
    n,
    share: total === 0 ? null : n / total,
    mean_pd_champion: mean(champion),
    mean_pd_challenger: isExact ? mean(challengerLow) : null,
    mean_pd_challenger_low: mean(challengerLow),
    mean_pd_challenger_high: mean(challengerHigh),
    expected_bads_champion: computeSum(champion),
    expected_bads_challenger: isExact ? computeSum(challengerLow) : null,
    expected_bads_challenger_low: computeSum(challengerLow),
    expected_bads_challenger_high: computeSum(challengerHigh),
  }
}

function mcNemarFields(swapIn: number, swapOut: number) {
  const found = mcNemar(swapIn, swapOut)
  return found && { chi2: found.chi2, p_value: found.pValue }
}
