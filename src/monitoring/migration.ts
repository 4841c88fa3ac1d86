import type { Migration } from '../../schemas/monitoring.ts'
import { pairReader } from './pairs.ts'
import { PdGroup } from './pd-group.ts'

type Grade = string | null

/** Applicants with the same two grades. */
interface GradeCell {
  readonly championGrade: Grade
  readonly challengerGrade: Grade
  readonly byChampion: PdGroup
  readonly byChallenger: PdGroup
}

/** Counts which grade of the challenger meets which of the champion. */
export class MigrationTally {
  private readonly cells = new Map<Grade, Map<Grade, GradeCell>>()

  /** Reads parts of a scan. */
  readerOf(challengerId: string) {
    const anyDirection = () => Promise.resolve(1 as const)
    return pairReader(challengerId, anyDirection, ({ champion, challenger }) => {
      const { pds: championPds, grades: championGrades } = champion
      const { pds: challengerPds, grades: challengerGrades } = challenger
      return (row) => {
        const from = champion.gradeNames[championGrades[row] ?? -1] ?? null
        const to = challenger.gradeNames[challengerGrades[row] ?? -1] ?? null
        this.add(from, to, [championPds[row] ?? Number.NaN, challengerPds[row] ?? Number.NaN])
      }
    })
  }

  add(from: Grade, to: Grade, [championPd, challengerPd]: readonly [number, number]): void {
    const cell = this.cellOf(from, to)
    cell.byChampion.add(championPd)
    cell.byChallenger.add(challengerPd)
  }

  /** @param gradesOf names of grades, which give the order of the answer; others follow */
  report(gradesOf: readonly string[]): Migration {
    const orderOf = (grade: Grade) => {
      const place = grade === null ? gradesOf.length + 1 : gradesOf.indexOf(grade)
      return place < 0 ? gradesOf.length : place
    }
    const all = [...this.cells.values()].flatMap((row) => [...row.values()])
    const n = all.reduce((sum, { byChampion }) => sum + byChampion.n, 0)
    const stable = all.reduce(
      (sum, cell) => sum + (cell.championGrade === cell.challengerGrade ? cell.byChampion.n : 0),
      0,
    )
    const rowSum = (grade: Grade) =>
      [...(this.cells.get(grade)?.values() ?? [])].reduce((sum, cell) => sum + cell.byChampion.n, 0)
    return {
      n,
      cells: all
        .sort(
          (a, b) =>
            orderOf(a.championGrade) - orderOf(b.championGrade) ||
            orderOf(a.challengerGrade) - orderOf(b.challengerGrade),
        )
        .map((cell) => ({
          champion_grade: cell.championGrade,
          challenger_grade: cell.challengerGrade,
          n: cell.byChampion.n,
          row_share: cell.byChampion.n / rowSum(cell.championGrade),
          mean_pd_champion: cell.byChampion.meanPd,
          mean_pd_challenger: cell.byChallenger.meanPd,
        })),
      stable_share: n === 0 ? null : stable / n,
    }
  }

  private cellOf(from: Grade, to: Grade): GradeCell {
    const row = this.cells.get(from) ?? new Map<Grade, GradeCell>()
    this.cells.set(from, row)
    const known = row.get(to)
    if (known !== undefined) return known
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
