import { parseJson } from '../json.ts'
import { fieldsOfV2 } from './record-v2.ts'

/** What one model says of all applicants of a request; arrays have one item for each applicant. */
export interface ModelResults {
  readonly modelId: string
  readonly role: 'champion' | 'challenger'
  readonly challengerId: string | null
  /** Null where the challenger failed on that applicant, as in the other arrays. */
  readonly scores: readonly (number | null)[]
  readonly pds: readonly (number | null)[]
  /** Null too where the score has no grade. */
  readonly grades: readonly (string | null)[]
  /** Index in the spec of the bin that each feature matched, in spec order; -1 where no bin's points
   * were used. Empty where the challenger failed. */
  readonly bins: readonly (readonly number[])[]
  readonly warningCounts: readonly number[]
}

/** One answered scoring request, with every model's result for every applicant. */
export interface ScoreRecord {
  /** Unique; with `scoredAtMs` the identity of the record. */
  readonly requestId: string
  readonly scoredAtMs: number
  readonly teamId: string
  readonly deploymentId: string
  readonly keyId: string
  readonly cacheVersion: number
  /** Of a live split, else null. */
  readonly bucket: number | null
  /** From the request's headers to its answer written out. */
  readonly latencyMs: number
  readonly isBatch: boolean
  /** Null outside of a batch. */
  readonly recordIds: readonly (string | number | null)[] | null
  /** Position in `models` of the one that answered. */
  readonly served: number
  readonly servedModelId: string
  /** What that one said of each applicant, as arrays of PostgreSQL: `{612.5,480}`. */
  readonly servedScores: string
  readonly servedPds: string
  readonly modelCount: number
  /** Champion first. */
  readonly models: readonly ModelResults[]
  /** Its fields as texts, see `RECORD_FIELDS`; `readRecord` reads them. */
  readonly payload: Buffer
}

/**
 * The fields of a record in their order, texts of UTF-8 with `FIELD_SEPARATOR` between them. JSON escapes that
 * character and the line break, and no other field can hold one. The drain hands the bytes of many records to
 * the database as lines of one text, and reads but few fields itself.
 */
export const RECORD_FIELDS = [
  /**
   * `models` and `recordIds` as JSON: `{"models":[{"model_id","role","challenger_id"?}],"results":[[record id,
   * [score, pd, grade, warning count, "bin,bin,…"] for each model or null],…]}`. First, because it is
   * written while the applicants are scored.
   */
  'results',
  'scoredAtMs',
  'requestId',
  'teamId',
  'deploymentId',
  'cacheVersion',
  'modelCount',
  'keyId',
  /** Empty outside of a live split. */
  'bucket',
  'latencyMs',
  'isBatch',
  'served',
  'servedModelId',
  'servedScores',
  'servedPds',
  /** Grades of the model that answered as JSON, one for each applicant. */
  'servedGrades',
  /** Of the record's form. */
  'version',
] as const

export type RecordField = (typeof RECORD_FIELDS)[number]

/** What ASCII calls the unit separator. */
export const FIELD_SEPARATOR = '\x1f'
const SEPARATOR_BYTE = FIELD_SEPARATOR.charCodeAt(0)
const LINE_BREAK_BYTE = 0x0a
export const RECORD_VERSION = '3'

/** One applicant on one model, or null where the challenger failed. */
type Result = readonly [number | null, number | null, string | null, number, string] | null

interface ResultsDocument {
  readonly models: readonly {
    readonly model_id: string
    readonly role: 'champion' | 'challenger'
    readonly challenger_id?: string
  }[]
  readonly results: readonly (readonly [string | number | null, ...Result[]])[]
}

/**
 * Reads a record that `RecordWriter` wrote. Its results are left as they are until somebody asks: whoever stores
 * them passes them on.
 *
 * @throws Error saying what is wrong with it, never quoting it
 */
export function readRecord(payload: Buffer): ScoreRecord {
  const resultsEnd = payload.indexOf(SEPARATOR_BYTE)
  if (resultsEnd < 0) return readRecord(upgraded(payload))
  if (payload.includes(LINE_BREAK_BYTE)) throw new Error('this is no record')
  const facts = payload.toString('utf8', resultsEnd + 1).split(FIELD_SEPARATOR)
  if (facts.length !== RECORD_FIELDS.length - 1) throw new Error('the record lacks fields')
  if (facts.at(-1) !== RECORD_VERSION) throw new Error('the record is of another version')
  return new StoredRecord(payload, resultsEnd, facts)
}

function upgraded(payload: Buffer): Buffer {
  const fields = fieldsOfV2(payload)
  if (fields === null) throw new Error('this is no record')
  return Buffer.from([...fields, RECORD_VERSION].join(FIELD_SEPARATOR))
}

/** The models of the field `results`, champion first. */
export function readModels(results: string): ModelResults[] {
  return modelsOf(parseJson(results) as ResultsDocument)
}

function modelsOf({ models, results }: ResultsDocument): ModelResults[] {
  return models.map(({ model_id, role, challenger_id = null }, position) => {
    const ofModel = results.map((row) => (row[position + 1] ?? null) as Result)
    return new StoredResults(model_id, role, challenger_id, ofModel)
  })
}

/** Where a field stands among those behind the results. */
const factOf = (field: RecordField) => RECORD_FIELDS.indexOf(field) - 1
const SCORED_AT = factOf('scoredAtMs')
const REQUEST_ID = factOf('requestId')
const TEAM_ID = factOf('teamId')
const DEPLOYMENT_ID = factOf('deploymentId')
const CACHE_VERSION = factOf('cacheVersion')
const MODEL_COUNT = factOf('modelCount')
const KEY_ID = factOf('keyId')
const BUCKET = factOf('bucket')
const LATENCY = factOf('latencyMs')
const IS_BATCH = factOf('isBatch')
const SERVED = factOf('served')
const SERVED_MODEL_ID = factOf('servedModelId')
const SERVED_SCORES = factOf('servedScores')
const SERVED_PDS = factOf('servedPds')

class StoredRecord implements ScoreRecord {
  readonly payload: Buffer
  private readonly resultsEnd: number
  private readonly facts: readonly string[]
  private document: ResultsDocument | null = null

  constructor(payload: Buffer, resultsEnd: number, facts: readonly string[]) {
    this.payload = payload
    this.resultsEnd = resultsEnd
    this.facts = facts
  }

  get requestId() {
    return this.text(REQUEST_ID)
  }

  get scoredAtMs() {
    return Number(this.text(SCORED_AT))
  }

  get teamId() {
    return this.text(TEAM_ID)
  }

  get deploymentId() {
    return this.text(DEPLOYMENT_ID)
  }

  get keyId() {
    return this.text(KEY_ID)
  }

  get cacheVersion() {
    return Number(this.text(CACHE_VERSION))
  }

  get bucket() {
    const text = this.text(BUCKET)
    return text === '' ? null : Number(text)
  }

  get latencyMs() {
    return Number(this.text(LATENCY))
  }

  get isBatch() {
    return this.text(IS_BATCH) === 'true'
  }

  get served() {
    return Number(this.text(SERVED))
  }

  get modelCount() {
    return Number(this.text(MODEL_COUNT))
  }

  get servedModelId() {
    return this.text(SERVED_MODEL_ID)
  }

  get servedScores() {
    return this.text(SERVED_SCORES)
  }

  get servedPds() {
    return this.text(SERVED_PDS)
  }

  get recordIds() {
    return this.isBatch ? this.results.map(([id]) => id) : null
  }

  get models(): ModelResults[] {
    return modelsOf(this.readResults())
  }

  private get results() {
    return this.readResults().results
  }

  private readResults(): ResultsDocument {
    const text = () => this.payload.toString('utf8', 0, this.resultsEnd)
    this.document ??= parseJson(text()) as ResultsDocument
    return this.document
  }

  private text(fact: number): string {
    return this.facts[fact] ?? ''
  }
}

/** Makes the arrays only when asked: the drain wants those of the model that answered. */
class StoredResults implements ModelResults {
  readonly modelId: string
  readonly role: 'champion' | 'challenger'
  readonly challengerId: string | null
  private readonly results: readonly Result[]

  constructor(
    modelId: string,
    role: 'champion' | 'challenger',
    challengerId: string | null,
    results: readonly Result[],
  ) {
    this.modelId = modelId
    this.role = role
    this.challengerId = challengerId
    this.results = results
  }

  get scores(): (number | null)[] {
    return this.results.map((result) => (result === null ? null : result[0]))
  }

  get pds(): (number | null)[] {
    return this.results.map((result) => (result === null ? null : result[1]))
  }

  get grades(): (string | null)[] {
    return this.results.map((result) => (result === null ? null : result[2]))
  }

  get bins(): number[][] {
    return this.results.map((result) => (result === null ? [] : result[4].split(',').map(Number)))
  }

  get warningCounts(): number[] {
    return this.results.map((result) => (result === null ? 0 : result[3]))
  }
}
