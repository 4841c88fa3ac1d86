import { randomUUID } from 'node:crypto'
import type { LoggedRequest, PickedRequests, ScannedColumns, ScanQuery } from '../../log/index.ts'
import { isLaterScoring, type ScoringPlace } from '../../outcomes/applicant.ts'
import { TurnTaker } from '../../platform/turn-taker.ts'
import { APPLICANTS_MAX, type LabelledApplicants, makeKey, tooMany } from './labelled-applicants.ts'
import { NameTable, NumberColumn } from './name-table.ts'
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
  readonly labelled: LabelledApplicants
}

const ROWS_A_LOOK = 200
const NOBODY = -1

/**
 * The applicants of a period that a model scored, as far as the log has them, with their last
 * scoring. An applicant takes about 100 bytes.
 */
export class LoggedPopulation {
  private readonly names = new NameTable()
  private readonly scoredAtMs = new NumberColumn(0)
  private readonly recordIndex = new NumberColumn(0)
  private readonly requestIds = new RequestIdList()
  private readonly scores = new NumberColumn(0)
  private readonly pds = new NumberColumn(Number.NaN)
  /** Number among the labelled applicants; `NOBODY` for none. */
  private readonly known = new NumberColumn(NOBODY)
  /** Number here of each labelled applicant. */
  private readonly ofKnown = new NumberColumn(NOBODY)
  private readonly labelled: LabelledApplicants
  private readonly keyMark = randomUUID()

  private constructor(labelled: LabelledApplicants) {
    this.labelled = labelled
  }

  /**
   * Reads the applicants from the log. Scorings with the same reference are one applicant, with
   * the last score; without a reference each counts. It gives way to the event loop, so that scores
   * do not wait.
   *
   * @throws AppError `invalid_request` above `APPLICANTS_MAX`
   */
  static async read({ columns, modelId, labelled }: PopulationOptions): Promise<LoggedPopulation> {
    const read = new LoggedPopulation(labelled)
    const turns = new TurnTaker()
    for await (const portion of columns) {
      for (const part of portion) {
        const model = part.models.find((one) => one.modelId === modelId)
        if (model === undefined) continue
        const { scored, scores, pds } = model
        for (let at = 0; at < part.wanted.length; at++) {
          if (at % ROWS_A_LOOK === 0 && turns.isOver) await turns.giveWay()
          const row = part.wanted[at] ?? 0
          if (scored[row] !== 1) continue
          const applicant = read.add(part, row)
          if (applicant === NOBODY) continue
          read.scores.set(applicant, scores[row] ?? Number.NaN)
          read.pds.set(applicant, pds[row] ?? Number.NaN)
        }
      }
      if (read.size > APPLICANTS_MAX) throw tooMany('applicants')
    }
    return read
  }

  get size(): number {
    return this.names.size
  }

  /** The last scoring of a labelled applicant, as far as the log has one. */
  findLast(labelled: number): ScoringPlace | null {
    const applicant = this.ofKnown.at(labelled)
    return applicant === NOBODY ? null : this.findPlace(applicant)
  }

  /**
   * Returns those without a good or bad outcome, rising by score. It gives way to the event loop.
   */
  async unlabelled(): Promise<ExpectedCount[]> {
    const turns = new TurnTaker()
    const counts = new ScoreCounts()
    for (let applicant = 0; applicant < this.size; applicant++) {
      if (applicant % ROWS_A_LOOK === 0 && turns.isOver) await turns.giveWay()
      const known = this.known.at(applicant)
      const pd = this.pds.at(applicant)
      if ((known !== NOBODY && this.labelled.hasLabel(known)) || Number.isNaN(pd)) continue
      counts.add(this.scores.at(applicant), pd, 1, 0)
    }
    const unlabelled: ExpectedCount[] = []
    await inTurns(await counts.sorted(), ({ score, good, pd }) => {
      unlabelled.push({ score, n: good, pd })
    })
    return unlabelled
  }

  /** @returns the number of the applicant; `NOBODY` if a later scoring is known */
  private add(part: ScannedColumns, row: number): number {
    const { names, labelled } = this
    const request = part.requestOfRow[row] ?? 0
    const place = {
      requestId: part.requestId(request),
      recordIndex: part.recordIndex(row),
      scoredAtMs: part.scoredAtMs(request),
    }
    const key = makeKey(place)
    // No reference looks like the key of a request with this text before it.
    if (!part.hashReference(row, names)) names.ofText(`${this.keyMark} ${key}`)
    const first = names.size
    const applicant = names.findOrAdd()
    const isNew = applicant === first
    let known = this.known.at(applicant)
    // A reference that nobody knows is not looked up again.
    if (known === NOBODY) known = labelled.ofLogged(key, isNew ? part.reference(row) : null)
    this.known.set(applicant, known)
    if (known !== NOBODY) this.ofKnown.set(known, applicant)
    if (!isNew && !isLaterScoring(place, this.findPlace(applicant))) return NOBODY
    this.scoredAtMs.set(applicant, place.scoredAtMs)
    this.recordIndex.set(applicant, place.recordIndex)
    this.requestIds.set(applicant, place.requestId)
    return applicant
  }

  private findPlace(applicant: number): ScoringPlace {
    return {
      requestId: this.requestIds.at(applicant),
      recordIndex: this.recordIndex.at(applicant),
      scoredAtMs: this.scoredAtMs.at(applicant),
    }
  }
}

/** The part of the log that a report reads. */
export interface PopulationLog {
  columns(query: ScanQuery): AsyncIterable<readonly ScannedColumns[]>
  pick(query: ScanQuery, picked: PickedRequests): AsyncIterable<readonly LoggedRequest[]>
}

/** Bytes of an id of the service: `req_` and 22 characters. */
const ID_BYTES = 26
const ROOM_FIRST = 1_024

/** Request ids by number, 26 bytes each; a few of another length as they are. */
class RequestIdList {
  private bytes = Buffer.alloc(ROOM_FIRST * ID_BYTES)
  private readonly others = new Map<number, string>()

  /** The id; empty for one that was not set. */
  at(index: number): string {
    const other = this.others.get(index)
    if (other !== undefined) return other
    const start = index * ID_BYTES
    if (this.bytes[start] === 0) return ''
    return this.bytes.toString('latin1', start, start + ID_BYTES)
  }

  set(index: number, id: string): void {
    const end = (index + 1) * ID_BYTES
    if (end > this.bytes.length) this.grow(end)
    if (id.length === ID_BYTES) {
      // Ids are read from bytes of Latin-1.
      this.bytes.write(id, end - ID_BYTES, 'latin1')
      if (this.others.size > 0) this.others.delete(index)
    } else this.others.set(index, id)
  }

  private grow(end: number): void {
    const larger = Buffer.alloc(Math.max(2 * this.bytes.length, end))
    this.bytes.copy(larger)
    this.bytes = larger
  }
}
