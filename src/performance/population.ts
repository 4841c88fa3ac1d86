import { isLaterScoring, type ScoringPlace } from '../outcomes/applicant.ts'
import type { ScannedColumns } from '../score-log/reading/columns.ts'
import type { PickedRequests, ScanQuery } from '../score-log/reading/log-query.ts'
import { TurnTaker } from '../score-log/reading/turn-taker.ts'
import type { LoggedRequest } from '../score-log/record/logged-request.ts'
import { APPLICANTS_MAX, tooMany } from './bounds.ts'
import { hasLabel } from './labelled.ts'
import { type KnownApplicant, keyOf, type LabelledApplicants } from './labelled-applicants.ts'
import type { ExpectedCount } from './statistics/expected.ts'
import { inTurns } from './statistics/in-turns.ts'
import { ScoreCounts } from './statistics/score-counts.ts'

/** Applicants of a period who were scored, and those of them without a good or bad outcome. */
export interface Population {
  readonly scored: number
  /** Rising by score; empty where the model gives no probability. */
  readonly unlabelled: readonly ExpectedCount[]
}

interface PopulationOptions {
  readonly columns: AsyncIterable<readonly ScannedColumns[]>
  readonly modelId: string
  /** They learn the last scoring that the log has of them. */
  readonly labelled: LabelledApplicants
}

/** The last scoring of an applicant. */
export interface LastScoring extends ScoringPlace {
  readonly score: number
  readonly pd: number
  known: KnownApplicant | null
}

const ROWS_A_LOOK = 200

/** The applicants of a period that a model scored, as far as the log has them. */
export class LoggedPopulation {
  private readonly last: ReadonlyMap<string, LastScoring>

  private constructor(last: ReadonlyMap<string, LastScoring>) {
    this.last = last
  }

  /**
   * Reads the applicants from the log. Scorings with the same reference are one applicant, with
   * the last score; without a reference each counts. It gives way to the event loop, so that scores
   * do not wait.
   *
   * @throws AppError `invalid_request` above `APPLICANTS_MAX`
   */
  static async read({ columns, modelId, labelled }: PopulationOptions): Promise<LoggedPopulation> {
    const last = new Map<string, LastScoring>()
    const turns = new TurnTaker()
    for await (const portion of columns) {
      for (const part of portion) {
        const model = part.models.find((one) => one.modelId === modelId)
        if (model === undefined) continue
        for (let at = 0; at < part.wanted.length; at++) {
          if (at % ROWS_A_LOOK === 0 && turns.isOver) await turns.giveWay()
          const row = part.wanted[at] ?? 0
          if (model.scored[row] !== 1) continue
          const request = part.requestOfRow[row] ?? 0
          const scoring = {
            requestId: part.requestId(request),
            recordIndex: part.recordIndex(row),
            scoredAtMs: part.scoredAtMs(request),
            score: model.scores[row] ?? Number.NaN,
            pd: model.pds[row] ?? Number.NaN,
          }
          addScoring(last, scoring, part.reference(row), labelled)
        }
      }
      if (last.size > APPLICANTS_MAX) throw tooMany('applicants')
    }
    return new LoggedPopulation(last)
  }

  get size(): number {
    return this.last.size
  }

  /** Those without a good or bad outcome, rising by score. It gives way to the event loop. */
  async unlabelled(): Promise<ExpectedCount[]> {
    const turns = new TurnTaker()
    let looked = 0
    const counts = new ScoreCounts()
    for (const { score, pd, known } of this.last.values()) {
      if (looked++ % ROWS_A_LOOK === 0 && turns.isOver) await turns.giveWay()
      if ((known !== null && hasLabel(known)) || Number.isNaN(pd)) continue
      counts.add(score, pd, 1, 0)
    }
    const unlabelled: ExpectedCount[] = []
    await inTurns(await counts.sorted(), ({ score, good, pd }) => {
      unlabelled.push({ score, n: good, pd })
    })
    return unlabelled
  }
}

function addScoring(
  last: Map<string, LastScoring>,
  scoring: Omit<LastScoring, 'known'>,
  reference: string | null,
  labelled: LabelledApplicants,
): void {
  const key = keyOf(scoring)
  // A reference can't look like the key of a request.
  const name = reference === null ? ` ${key}` : `=${reference}`
  let found = last.get(name)
  // A reference that nobody knows is not looked up again.
  const known = found?.known ?? labelled.ofLogged(key, found === undefined ? reference : null)
  if (found === undefined) {
    found = { ...scoring, known }
    last.set(name, found)
  } else if (isLaterScoring(scoring, found)) Object.assign(found, scoring)
  found.known = known
  if (known !== null) known.logged = found
}

/** The part of the log that a report reads. */
export interface PopulationLog {
  columns(query: ScanQuery): AsyncIterable<readonly ScannedColumns[]>
  pick(query: ScanQuery, picked: PickedRequests): AsyncIterable<readonly LoggedRequest[]>
}
