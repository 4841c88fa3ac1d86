import { parseStoredJson } from '../../platform/json.ts'

/**
 * Results of one model for all applicants of a request; arrays have one item for each applicant.
 */
export interface ModelResults {
  readonly modelId: string
  readonly role: 'champion' | 'challenger'
  readonly challengerId: string | null
  /** Null if the challenger failed for that applicant, as in the other arrays. */
  readonly scores: readonly (number | null)[]
  /** Also null if the model has no scale. */
  readonly pds: readonly (number | null)[]
  /** Also null if the score has no grade. */
  readonly grades: readonly (string | null)[]
  /**
   * For each feature, in spec order, the index in the spec of the matched bin; -1 if no bin gave
   * points. Empty if the challenger failed.
   */
  readonly bins: readonly (readonly number[])[]
  readonly warningCounts: readonly number[]
}

/**
 * Version 3 of the record of one answered request, a text. It is only read: from the spools of
 * processes that ended, and from the rows of the score log's first form.
 */
export interface ScoreRecord {
  readonly version: 3
  /** Unique; with `scoredAtMs` the identity of the record. */
  readonly requestId: string
  readonly scoredAtMs: number
  readonly teamId: string
  readonly deploymentId: string
  readonly keyId: string
  readonly cacheVersion: number
  /** Bucket of a live split, else null. */
  readonly bucket: number | null
  /** From the request's headers to its serialized response. */
  readonly latencyMs: number
  readonly isBatch: boolean
  /** Null outside of a batch. */
  readonly recordIds: readonly (string | number | null)[] | null
  /** Position in `models` of the one that answered. */
  readonly served: number
  readonly servedModelId: string
  /** Its results for each applicant as PostgreSQL arrays, `{612.5,480}`; a `pd` can be `NaN`. */
  readonly servedScores: string
  readonly servedPds: string
  readonly modelCount: number
  /** Champion first. */
  readonly models: readonly ModelResults[]
  /** The fields as texts, see `RECORD_FIELDS`; `readRecordV3` reads them. */
  readonly payload: Buffer
}

/**
 * The fields of a record in their order: UTF-8 texts with `FIELD_SEPARATOR` between them. JSON
 * escapes that character and the line break, and no other field can contain one. The drain gives
 * the bytes of many records to the database as lines of one text, and itself reads only a few
 * fields.
 */
export const RECORD_FIELDS = [
  /**
   * `models` and `recordIds` as JSON: `{"models":[{"model_id","role","challenger_id"?}],
   * "results":[[record id, [score, pd or null, grade, warning count, "bin,bin,…"] for each model or
   * null],…]}`. First, because it is written while the applicants are scored.
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
  /** Version of the record's form. */
  'version',
] as const

export type RecordField = (typeof RECORD_FIELDS)[number]

/** The unit separator of ASCII. */
export const FIELD_SEPARATOR = '\x1f'
const SEPARATOR_BYTE = FIELD_SEPARATOR.charCodeAt(0)
const LINE_BREAK_BYTE = 0x0a
export const RECORD_VERSION = '3'

/** The result of one model for one applicant, or null if the challenger failed. */
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
 * Reads a record of `RecordWriter`. It parses the results on first use: the drain passes them on
 * unparsed.
 *
 * @throws Error that says what is wrong with the record, without quoting it
 */
export function readRecordV3(payload: Buffer): ScoreRecord {
  const resultsEnd = payload.indexOf(SEPARATOR_BYTE)
  if (resultsEnd < 0 || payload.includes(LINE_BREAK_BYTE)) {
    throw new Error('this is not a record')
  }
  const facts = payload.toString('utf8', resultsEnd + 1).split(FIELD_SEPARATOR)
  if (facts.length !== RECORD_FIELDS.length - 1) throw new Error('the record lacks fields')
  if (facts.at(-1) !== RECORD_VERSION) throw new Error('the record is of another version')
  return new StoredRecord(payload, resultsEnd, facts)
}

/** The models of the field `results`, champion first. */
export function readModels(results: string): ModelResults[] {
  return modelsOf(parseStoredJson(results) as ResultsDocument)
}

function modelsOf({ models, results }: ResultsDocument): ModelResults[] {
  return models.map(({ model_id, role, challenger_id = null }, position) => {
    const ofModel = results.map((row) => (row[position + 1] ?? null) as Result)
    return new StoredResults(model_id, role, challenger_id, ofModel)
  })
}

/** Index of a field among those after the results. */
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
  readonly version = 3
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
    this.document ??= parseStoredJson(text()) as ResultsDocument
    return this.document
  }

  private text(fact: number): string {
    return this.facts[fact] ?? ''
  }
}

/** Builds the arrays on demand: the drain needs only those of the model that answered. */
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
