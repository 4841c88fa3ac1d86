import type { Migration } from '../../../schemas/monitoring.ts'
import { AppError } from '../../errors.ts'
import type { PartReader, ScannedColumns, ScannedModel } from '../../log/index.ts'
import { lazily } from './model-tally.ts'
import { type Direction, PdGroup } from './pd-group.ts'

type Grade = string | null

/** Applicants with the same two grades. */
interface GradeCell {
  readonly championGrade: Grade
  readonly challengerGrade: Grade
  readonly byChampion: PdGroup
  readonly byChallenger: PdGroup
}

/** Pairs of grades that applicants have: all of two cards of 500 grades. */
export const PAIRS_MAX = 250_000
/** MiB that so many take. */
const PAIRS_MIB = 90

/** Counts which grade of the challenger meets which of the champion. */
export class MigrationTally {
  private readonly challengerId: string
  private readonly cells = new Map<Grade, Map<Grade, GradeCell>>()
  private readonly pairsMax: number
  private pairs = 0

  /** @param pairsMax of grades; an applicant with a further one ends the reading */
  constructor(challengerId: string, pairsMax = PAIRS_MAX) {
    this.challengerId = challengerId
    this.pairsMax = pairsMax
  }

  /** See `ApplicantReader`. */
  readonly memoryMiB = PAIRS_MIB

  /** See `ApplicantReader`. */
  get takers(): string {
    return takersOfPair(this.challengerId)
  }

  /** Reads parts of a scan. It throws AppError `invalid_request` for too many pairs of grades. */
  get makeReader() {
    const anyDirection = () => Promise.resolve(1 as const)
    return pairReader(this.challengerId, anyDirection, ({ champion, challenger }) => {
      const { pds: championPds, grades: championGrades } = champion
      const { pds: challengerPds, grades: challengerGrades } = challenger
      /** Cells of this part by the indexes of the grades, of the champion and then of the other. */
      const cells = new Map<number, Map<number, GradeCell>>()
      const newCell = (from: number, to: number) =>
        this.findCell(champion.gradeNames[from] ?? null, challenger.gradeNames[to] ?? null)
      return (rows) => {
        for (let index = 0; index < rows.length; index++) {
          const row = rows[index] ?? 0
          const from = championGrades[row] ?? -1
          const to = challengerGrades[row] ?? -1
          let line = cells.get(from)
          if (line === undefined) {
            line = new Map()
            cells.set(from, line)
          }
          let cell = line.get(to)
          if (cell === undefined) {
            cell = newCell(from, to)
            line.set(to, cell)
          }
          cell.byChampion.add(championPds[row] ?? Number.NaN)
          cell.byChallenger.add(challengerPds[row] ?? Number.NaN)
        }
      }
    })
  }

  /** @param gradesOf names of grades, which give the order of the answer; others follow */
  report(gradesOf: readonly string[]): Omit<Migration, 'from' | 'to' | 'dedupe'> {
    const places = new Map<Grade, number>(gradesOf.map((grade, place) => [grade, place]))
    const findOrder = (grade: Grade) =>
      grade === null ? gradesOf.length + 1 : (places.get(grade) ?? gradesOf.length)
    const all = [...this.cells.values()].flatMap((row) => [...row.values()])
    const n = computeSize(all)
    // An applicant without a grade by one of the models keeps none.
    const graded = all.filter(
      (cell) => cell.championGrade !== null && cell.challengerGrade !== null,
    )
    const stable = graded.filter((cell) => cell.championGrade === cell.challengerGrade)
    const nGraded = computeSize(graded)
    const rowSums = new Map<Grade, number>()
    for (const { championGrade, byChampion } of all) {
      rowSums.set(championGrade, (rowSums.get(championGrade) ?? 0) + byChampion.n)
    }
    return {
      n,
      n_graded: nGraded,
      cells: all
        .sort(
          (a, b) =>
            findOrder(a.championGrade) - findOrder(b.championGrade) ||
            findOrder(a.challengerGrade) - findOrder(b.challengerGrade),
        )
        .map((cell) => ({
          champion_grade: cell.championGrade,
          challenger_grade: cell.challengerGrade,
          n: cell.byChampion.n,
          row_share: cell.byChampion.n / (rowSums.get(cell.championGrade) ?? 0),
          mean_pd_champion: cell.byChampion.meanPd,
          mean_pd_challenger: cell.byChallenger.meanPd,
        })),
      stable_share: nGraded === 0 ? null : computeSize(stable) / nGraded,
    }
  }

  private findCell(from: Grade, to: Grade): GradeCell {
    const row = this.cells.get(from) ?? new Map<Grade, GradeCell>()
    this.cells.set(from, row)
    const known = row.get(to)
    if (known !== undefined) return known
    if (++this.pairs > this.pairsMax) {
      const message = `applicants have more than ${this.pairsMax} pairs of grades: choose a shorter period with from and to`
      throw new AppError('invalid_request', message)
    }
    const cell = {
      championGrade: from,
      challengerGrade: to,
      byChampion: new PdGroup(),
      byChallenger: new PdGroup(),
    }
    row.set(to, cell)
    return cell
  }
}

function computeSize(cells: readonly GradeCell[]): number {
  return cells.reduce((sum, { byChampion }) => sum + byChampion.n, 0)
}

/** Takes applicants of a pair of models, by their index in a part of a scan. */
type PairAdder = (rows: Int32Array) => void

/** Both models of a part of a scan. */
interface Pair {
  readonly champion: ScannedModel
  readonly challenger: ScannedModel
  /** Direction of the champion's scores. */
  readonly direction: Direction
}

/** Names those who take the applicants of a pair, see `ApplicantReader`. */
export function takersOfPair(challengerId: string): string {
  return `pair ${challengerId}`
}

/**
 * Reads the applicants that a challenger and the champion of the same request scored.
 *
 * @param findDirection direction of a model by its id
 * @param makeAdder what to do with the applicants
 */
export function pairReader(
  challengerId: string,
  findDirection: (modelId: string) => Promise<Direction>,
  makeAdder: (pair: Pair) => PairAdder,
): (columns: ScannedColumns) => Promise<PartReader | null> {
  return async ({ models }) => {
    const [champion] = models
    const challenger = models.find((model) => model.challengerId === challengerId)
    if (champion === undefined || challenger === undefined) return null
    const direction = await findDirection(champion.modelId)
    const [ofChampion, ofChallenger] = [champion.scored, challenger.scored]
    return {
      takes: (row) => ofChampion[row] === 1 && ofChallenger[row] === 1,
      add: lazily(() => makeAdder({ champion, challenger, direction })),
    }
  }
}
