import { AppError } from '../errors.ts'
import type { ScannedColumns } from '../score-log/reading/columns.ts'
import type { ScanQuery } from '../score-log/reading/log-query.ts'
import { TurnTaker } from '../score-log/reading/turn-taker.ts'
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
  /** Applicants with an outcome as `request/index`, and whether one of them is good or bad. */
  readonly labelled: ReadonlyMap<string, boolean>
}

/** The last scoring of an applicant. */
interface LastScoring {
  atMs: number
  index: number
  score: number
  pd: number
  isLabelled: boolean
}

/** Applicants of a report: each takes about 200 bytes until it is done. */
export const APPLICANTS_MAX = 1_000_000
const ROWS_A_LOOK = 200

/**
 * Counts the applicants that a model scored, from the log. Scorings with the same reference are one
 * applicant, with the last score; without a reference each counts. Applicants with an outcome count
 * also where the log has forgotten them.
 *
 * It gives way to the event loop, so that scores do not wait.
 *
 * @throws AppError `invalid_request` above `APPLICANTS_MAX`
 */
export async function populationOf(options: PopulationOptions): Promise<Population> {
  const { columns, modelId, labelled } = options
  const last = new Map<string, LastScoring>()
  const turns = new TurnTaker()
  let forgotten = labelled.size
  for await (const portion of columns) {
    for (const part of portion) {
      const model = part.models.find((one) => one.modelId === modelId)
      if (model === undefined) continue
      for (let at = 0; at < part.wanted.length; at++) {
        if (at % ROWS_A_LOOK === 0 && turns.isOver) await turns.giveWay()
        const row = part.wanted[at] ?? 0
        if (model.scored[row] !== 1) continue
        const request = part.requestOfRow[row] ?? 0
        const key = `${part.requestId(request)}/${part.recordIndex(row)}`
        const known = labelled.get(key)
        if (known !== undefined) forgotten--
        const scoring = {
          atMs: part.scoredAtMs(request),
          index: part.recordIndex(row),
          score: model.scores[row] ?? Number.NaN,
          pd: model.pds[row] ?? Number.NaN,
          isLabelled: known === true,
        }
        addScoring(last, nameOf(part.reference(row), key), scoring)
      }
    }
    if (last.size > APPLICANTS_MAX) throw tooMany('applicants')
  }
  return { scored: last.size + forgotten, unlabelled: await unlabelledOf(last.values()) }
}

/** A reference can't look like the key of a request. */
function nameOf(reference: string | null, key: string): string {
  return reference === null ? ` ${key}` : `=${reference}`
}

function addScoring(last: Map<string, LastScoring>, name: string, scoring: LastScoring): void {
  const found = last.get(name)
  if (found === undefined) {
    last.set(name, scoring)
    return
  }
  const isLabelled = found.isLabelled || scoring.isLabelled
  const isLater =
    scoring.atMs > found.atMs || (scoring.atMs === found.atMs && scoring.index > found.index)
  Object.assign(found, isLater ? scoring : {}, { isLabelled })
}

async function unlabelledOf(scorings: Iterable<LastScoring>): Promise<ExpectedCount[]> {
  const turns = new TurnTaker()
  let looked = 0
  const counts = new ScoreCounts()
  for (const { score, pd, isLabelled } of scorings) {
    if (looked++ % ROWS_A_LOOK === 0 && turns.isOver) await turns.giveWay()
    if (isLabelled || Number.isNaN(pd)) continue
    counts.add(score, pd, 1, 0)
  }
  const unlabelled: ExpectedCount[] = []
  await inTurns(await counts.sorted(), ({ score, good, pd }) => {
    unlabelled.push({ score, n: good, pd })
  })
  return unlabelled
}

/** The error of a report above `APPLICANTS_MAX`. */
export function tooMany(what: 'applicants' | 'outcomes'): AppError {
  const message = `the period has more than ${APPLICANTS_MAX} ${what}: choose a shorter one`
  return new AppError('invalid_request', message)
}

/** The part of the log that a report reads. */
export interface PopulationLog {
  columns(query: ScanQuery): AsyncIterable<readonly ScannedColumns[]>
}
