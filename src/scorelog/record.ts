import type { ScoreSheet } from '../engine/index.ts'
import { parseJson } from '../json.ts'
import type { ModelParts } from './model-parts.ts'

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
  readonly texts: RecordTexts
}

/** The JSON texts that a request left, to be stored as they are; none holds a line break. */
export interface RecordTexts {
  /**
   * `models` and `recordIds`: `{"models":[{"model_id","role","challenger_id"?}],"results":[[record id, [score,
   * pd, grade, warning count, "bin,bin,…"] for each model or null],…]}`.
   */
  readonly results: string
  /** All else, under the short names that `PostgresScoreLogStore` reads. */
  readonly facts: string
  /** Grades of the model that answered, one for each applicant. */
  readonly grades: string
}

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

interface FactsDocument {
  /** Version of the record's form. */
  readonly f: number
  readonly i: string
  readonly a: number
  readonly t: string
  readonly d: string
  readonly k: string
  readonly v: number
  readonly b: number | null
  readonly l: number
  readonly m: boolean
  /** Position of the model that answered, among so many. */
  readonly w: number
  readonly n: number
  readonly s: string
  readonly c: string
  readonly p: string
}

export const RECORD_VERSION = 2

/**
 * Reads a record that `RecordWriter` wrote: three JSON texts with line breaks between them. The results are left
 * as they are until somebody asks: whoever stores them passes them on.
 *
 * @throws Error saying what is wrong with it, never quoting it
 */
export function readRecord(payload: Buffer): ScoreRecord {
  const text = payload.toString()
  // None of the texts holds one: JSON escapes it.
  const grades = text.lastIndexOf('\n')
  const facts = text.lastIndexOf('\n', grades - 1)
  if (facts < 0) throw new Error('the record has no facts')
  return new StoredRecord({
    results: text.slice(0, facts),
    facts: text.slice(facts + 1, grades),
    grades: text.slice(grades + 1),
  })
}

/** The models of `RecordTexts.results`, champion first. */
export function readModels(results: string): ModelResults[] {
  return modelsOf(parseJson(results) as ResultsDocument)
}

function modelsOf({ models, results }: ResultsDocument): ModelResults[] {
  return models.map(({ model_id, role, challenger_id = null }, position) => {
    const ofModel = results.map((row) => (row[position + 1] ?? null) as Result)
    return new StoredResults(model_id, role, challenger_id, ofModel)
  })
}

/** The record as `readRecord` reads it. */
export function recordPayload({ texts: { results, facts, grades } }: ScoreRecord): Buffer {
  return Buffer.from(`${results}\n${facts}\n${grades}`)
}

class StoredRecord implements ScoreRecord {
  readonly texts: RecordTexts
  private readonly facts: FactsDocument
  private document: ResultsDocument | null = null

  constructor(texts: RecordTexts) {
    const facts = parseJson(texts.facts) as FactsDocument
    if (facts.f !== RECORD_VERSION) throw new Error('the record is of another version')
    this.texts = texts
    this.facts = facts
  }

  get requestId() {
    return this.facts.i
  }

  get scoredAtMs() {
    return this.facts.a
  }

  get teamId() {
    return this.facts.t
  }

  get deploymentId() {
    return this.facts.d
  }

  get keyId() {
    return this.facts.k
  }

  get cacheVersion() {
    return this.facts.v
  }

  get bucket() {
    return this.facts.b
  }

  get latencyMs() {
    return this.facts.l
  }

  get isBatch() {
    return this.facts.m
  }

  get served() {
    return this.facts.w
  }

  get modelCount() {
    return this.facts.n
  }

  get servedModelId() {
    return this.facts.s
  }

  get servedScores() {
    return this.facts.c
  }

  get servedPds() {
    return this.facts.p
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
    this.document ??= parseJson(this.texts.results) as ResultsDocument
    return this.document
  }
}

/** What the records of one deployment have in common, written once. */
export class DeploymentTexts {
  /** What the results begin with. */
  readonly head: Buffer
  private readonly deploymentText: string
  private readonly modelIds: readonly string[]

  /** @param models the champion first, then the challengers */
  constructor(
    deployment: Pick<ScoreRecord, 'teamId' | 'deploymentId' | 'cacheVersion'>,
    models: readonly { readonly modelId: string; readonly challengerId: string | null }[],
  ) {
    const { teamId, deploymentId, cacheVersion } = deployment
    const modelTexts = models.map(({ modelId, challengerId }) =>
      challengerId === null
        ? `{"model_id":"${modelId}","role":"champion"}`
        : `{"model_id":"${modelId}","role":"challenger","challenger_id":"${challengerId}"}`,
    )
    this.head = Buffer.from(`{"models":[${modelTexts.join(',')}],"results":[`)
    this.deploymentText = `"t":"${teamId}","d":"${deploymentId}","v":${cacheVersion},"n":${models.length}`
    this.modelIds = models.map(({ modelId }) => modelId)
  }

  /** Facts and grades, with a line break between them. */
  facts(request: RequestFacts, { scores, pds, grades }: ServedTexts): string {
    const { requestId, scoredAtMs, keyId, bucket, latencyMs, isBatch, served } = request
    const deployment = this.deploymentText
    return `{"f":${RECORD_VERSION},"i":"${requestId}","a":${scoredAtMs},${deployment},"k":"${keyId}","b":${bucket},"l":${latencyMs},"m":${isBatch},"w":${served},"s":"${this.modelIds[served]}","c":"{${scores}}","p":"{${pds}}"}\n[${grades}]`
  }
}

/** What the model that answers says of the applicants of a request, one after the other. */
export class ServedTexts {
  scores = ''
  pds = ''
  grades = ''

  /** @param sheet of that model, just filled */
  add({ score, pd, grade }: ScoreSheet, parts: ModelParts): void {
    const comma = this.grades === '' ? '' : ','
    this.scores += comma + score
    this.pds += comma + pd
    this.grades += comma + parts.gradeText(grade)
  }
}

/** What the records of one deployment have not in common. */
export type RequestFacts = Pick<
  ScoreRecord,
  'requestId' | 'scoredAtMs' | 'keyId' | 'bucket' | 'latencyMs' | 'isBatch' | 'served'
>

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
