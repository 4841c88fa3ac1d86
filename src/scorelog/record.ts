import { parseJson } from '../json.ts'

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
  /** Champion first. */
  readonly models: readonly ModelResults[]
  /**
   * `models` and `recordIds` as the JSON text that the request left, to be stored as it is:
   * `{"models":[{"model_id","role","challenger_id"?}],"results":[[record id, [score, pd, grade, warning count,
   * "bin,bin,…"] for each model or null],…]}`.
   */
  readonly resultsText: string
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
  readonly v: number
  readonly request_id: string
  readonly scored_at: number
  readonly team_id: string
  readonly deployment_id: string
  readonly key_id: string
  readonly cache_version: number
  readonly bucket: number | null
  readonly latency_ms: number
  readonly is_batch: boolean
  readonly served: number
}

export const RECORD_VERSION = 1

/**
 * Reads a record that `RecordWriter` wrote: two JSON texts, the results and the facts of the request, with a
 * line break between them.
 *
 * @throws Error saying what is wrong with it, never quoting it
 */
export function readRecord(payload: Buffer): ScoreRecord {
  // Neither text holds one: JSON escapes it.
  const lineBreak = payload.lastIndexOf(0x0a)
  if (lineBreak < 0) throw new Error('the record has no facts')
  const resultsText = payload.toString('utf8', 0, lineBreak)
  const facts = parseJson(payload.toString('utf8', lineBreak + 1)) as FactsDocument
  if (facts.v !== RECORD_VERSION) throw new Error('the record is of another version')
  const { models, results } = parseJson(resultsText) as ResultsDocument
  return {
    requestId: facts.request_id,
    scoredAtMs: facts.scored_at,
    teamId: facts.team_id,
    deploymentId: facts.deployment_id,
    keyId: facts.key_id,
    cacheVersion: facts.cache_version,
    bucket: facts.bucket,
    latencyMs: facts.latency_ms,
    isBatch: facts.is_batch,
    recordIds: facts.is_batch ? results.map(([id]) => id) : null,
    served: facts.served,
    models: models.map(
      (model, position) =>
        new StoredResults(
          model.model_id,
          model.role,
          model.challenger_id ?? null,
          results.map((row) => (row[position + 1] ?? null) as Result),
        ),
    ),
    resultsText,
  }
}

/** The record as `readRecord` reads it. */
export function recordPayload(record: ScoreRecord): Buffer {
  return Buffer.from(`${record.resultsText}\n${new RecordTexts(record, []).facts(record)}`)
}

/** What the records of one deployment have in common, written once. */
export class RecordTexts {
  /** What the first text begins with. */
  readonly head: Buffer
  private readonly deploymentText: string

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
    this.deploymentText = `"team_id":"${teamId}","deployment_id":"${deploymentId}","cache_version":${cacheVersion}`
  }

  /** The second text. */
  facts(request: RequestFacts): string {
    const { requestId, scoredAtMs, keyId, bucket, latencyMs, isBatch, served } = request
    return `{"v":${RECORD_VERSION},"request_id":"${requestId}","scored_at":${scoredAtMs},${this.deploymentText},"key_id":"${keyId}","bucket":${bucket},"latency_ms":${latencyMs},"is_batch":${isBatch},"served":${served}}`
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
