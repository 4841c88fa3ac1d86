import { checkOutcomes, checkResults, checkScore } from './answers.ts'
import { type Applicant, checkApplicant, checkRecord } from './applicant.ts'
import type {
  Answer,
  AnyInput,
  CallOptions,
  Input,
  InputArguments,
  Method,
  Operation,
  PathOf,
} from './calls.ts'
import { CallError } from './errors.ts'
import type { components, operations } from './openapi.ts'
import { RETRY_DEFAULTS } from './retry.ts'
import { type ClientOptions, Transport } from './transport.ts'

type Schemas = components['schemas']
type ScoreResult = Schemas['ScoreResult']
type ScoreBatchResult = Schemas['ScoreBatchResult']
export type OutcomeItem = Schemas['OutcomeItem']
type QueryOf<O> = O extends { parameters: { query?: infer V } } ? NonNullable<V> : never

/** What the API takes at most, in one request. */
const BATCH_RECORDS_MAX = 1_000
const OUTCOMES_MAX = 10_000
/** An answer that is longer than 4 MiB is not kept for retries; 500 records stay far below. */
const PART_RECORDS = 500

export interface ScoreOptions extends CallOptions {
  /** Your number of the application. The score can be read back by it. */
  readonly reference?: string
  /** In a live split, keeps an applicant on one model. Default: the reference. */
  readonly routingKey?: string
  readonly strictMode?: boolean
  /** Number of reasons, from 1 to 10. */
  readonly reasons?: number
  /** Language of the reasons, such as `en` or `pt-BR`. */
  readonly lang?: string
}

export interface BatchOptions extends CallOptions {
  /** Records in one request: 500 by default, 1,000 at most. */
  readonly partRecords?: number
  /** Keeps all parts on one model in a live split. Default: the idempotency key. */
  readonly routingKey?: string
  readonly strictMode?: boolean
  readonly includeContributions?: boolean
  readonly reasons?: number
  readonly lang?: string
}

/** A client of Scoreline. It holds no connection and no state: one is enough for a program. */
export class ScorelineClient {
  private readonly transport: Transport

  /** @throws TypeError if the URL is not one of HTTP */
  constructor(options: ClientOptions) {
    const { attemptsMax, timeoutMs, deadlineMs } = options
    this.transport = new Transport(options, {
      attemptsMax: attemptsMax ?? RETRY_DEFAULTS.attemptsMax,
      timeoutMs: timeoutMs ?? RETRY_DEFAULTS.timeoutMs,
      deadlineMs: deadlineMs ?? RETRY_DEFAULTS.deadlineMs,
    })
  }

  /**
   * Calls any operation of the API, with the types of its document.
   *
   * @throws ScorelineError if the service refuses; NoAnswerError if no answer came
   */
  call<M extends Method, P extends PathOf<M>>(
    method: M,
    path: P,
    ...[input]: InputArguments<Operation<M, P>>
  ): Promise<Answer<Operation<M, P>>> {
    // The types of the document say what this call takes and answers.
    const answer = this.transport.call(method, path, (input ?? {}) as AnyInput)
    return answer as Promise<Answer<Operation<M, P>>>
  }

  /**
   * Scores one applicant. Repeated attempts are logged once.
   *
   * @throws InvalidApplicantError before anything is sent; ScorelineError, NoAnswerError
   */
  async score<Features extends Applicant<Features>>(
    slug: string,
    applicant: Features,
    options: ScoreOptions = {},
  ): Promise<ScoreResult> {
    checkApplicant(applicant)
    const { reference, routingKey = reference, strictMode, reasons, lang, ...rest } = options
    const input: Input<Operation<'POST', '/v1/score/{slug}'>> = {
      ...rest,
      path: { slug },
      query: withoutUndefined({ reasons, lang }),
      headers: withoutUndefined({
        'X-Reference-Id': reference,
        'X-Routing-Key': routingKey,
      }),
      body: { ...(applicant as object), ...withoutUndefined({ strict_mode: strictMode }) },
    }
    const answer = await this.transport.call('POST', '/v1/score/{slug}', input, checkScore)
    // Its fields were checked.
    return answer as ScoreResult
  }

  /**
   * Scores records in parts, and yields each part when it is answered, in order.
   *
   * Part n is sent with the idempotency key and `-n`. A program that failed in the middle can
   * repeat the whole file within 24 hours, with its own key or that of the error: what was scored
   * gets the same answers, and is logged once.
   *
   * @throws InvalidApplicantError naming the record; ScorelineError, NoAnswerError
   */
  async *scoreParts<Features extends Applicant<Features>>(
    slug: string,
    records: Iterable<Features> | AsyncIterable<Features>,
    options: BatchOptions = {},
  ): AsyncGenerator<ScoreBatchResult, void, undefined> {
    const { partRecords = PART_RECORDS, idempotencyKey = crypto.randomUUID(), ...more } = options
    const { routingKey = idempotencyKey ?? crypto.randomUUID() } = more
    const seen = new Set<string>()
    let number = 0
    for await (const part of partsOf(records, checkedPart(partRecords, BATCH_RECORDS_MAX))) {
      try {
        for (const [index, record] of part.entries()) {
          checkRecord(record, `record ${number * partRecords + index}: `)
        }
        number++
        const partKey = idempotencyKey === null ? null : `${idempotencyKey}-${number}`
        const input = batchInput(slug, part, { ...more, routingKey, idempotencyKey: partKey })
        const check = checkResults(part, seen)
        const answer = await this.transport.call('POST', '/v1/score/{slug}/batch', input, check)
        // Its fields were checked.
        yield answer as ScoreBatchResult
      } catch (error) {
        if (error instanceof CallError) error.idempotencyKey = idempotencyKey
        throw error
      }
    }
  }

  /**
   * The results of all parts in one list, in the order of the records.
   *
   * @throws as `scoreParts`; `scored` of the error has the results before it
   */
  async scoreBatch<Features extends Applicant<Features>>(
    slug: string,
    records: Iterable<Features> | AsyncIterable<Features>,
    options: BatchOptions = {},
  ): Promise<ScoreBatchResult['results']> {
    const results: ScoreBatchResult['results'] = []
    try {
      for await (const part of this.scoreParts(slug, records, options)) {
        results.push(...part.results)
      }
    } catch (error) {
      if (error instanceof CallError) error.scored = results
      throw error
    }
    return results
  }

  /** A score as it was answered, from the log. It is there within two seconds. */
  readScore(requestId: string, query: QueryOf<operations['scores.get']> = {}) {
    return this.call('GET', '/v1/scores/{request_id}', { path: { request_id: requestId }, query })
  }

  /** The scores of an application, newest first. */
  findScores(reference: string, query: Omit<QueryOf<operations['scores.list']>, 'reference'> = {}) {
    return this.call('GET', '/v1/scores', { query: { ...query, reference } })
  }

  /** Why a logged score is what it is, and what would have changed it. */
  explain(requestId: string, query: QueryOf<operations['scores.explain']> = {}) {
    const path = { request_id: requestId }
    return this.call('GET', '/v1/scores/{request_id}/explanation', { path, query })
  }

  stats(slug: string, query: QueryOf<operations['stats.get']> = {}) {
    return this.call('GET', '/v1/deployments/{slug}/stats', { path: { slug }, query })
  }

  stability(slug: string, query: QueryOf<operations['monitoring.stability']> = {}) {
    return this.call('GET', '/v1/deployments/{slug}/stability', { path: { slug }, query })
  }

  /**
   * Sends decisions and outcomes, in parts of 10,000. Sending twice changes nothing.
   *
   * @returns results with `index` counted over all parts, and the sum of the counts
   */
  async sendOutcomes(
    outcomes: Iterable<OutcomeItem> | AsyncIterable<OutcomeItem>,
    options: CallOptions = {},
  ): Promise<Schemas['OutcomeResults']> {
    const results: Schemas['OutcomeResults']['results'] = []
    const counts = {
      accepted: 0,
      unchanged: 0,
      revised: 0,
      unmatched: 0,
      ambiguous: 0,
      invalid: 0,
    }
    let sent = 0
    for await (const part of partsOf(outcomes, OUTCOMES_MAX)) {
      const input = { ...options, body: { outcomes: part } }
      const check = checkOutcomes(part.length)
      // Its fields are checked.
      const answer = (await this.transport.call(
        'POST',
        '/v1/outcomes',
        input,
        check,
      )) as Schemas['OutcomeResults']
      for (const one of answer.results) results.push({ ...one, index: one.index + sent })
      for (const name of Object.keys(counts) as (keyof typeof counts)[]) {
        counts[name] += answer.counts[name]
      }
      sent += part.length
    }
    return { results, counts }
  }

  /** Checks and registers a scorecard; with `auto_deploy`, puts it behind a new deployment. */
  deploy(order: Schemas['DeployRequest'], options: CallOptions = {}) {
    return this.call('POST', '/v1/models/deploy', { ...options, body: order })
  }

  /** Reads a card of another tool and checks it; with `register`, registers what agrees. */
  importCard(order: Schemas['ImportRequest'], options: CallOptions = {}) {
    return this.call('POST', '/v1/models/import', { ...options, body: order })
  }
}

function batchInput(
  slug: string,
  records: readonly object[],
  { includeContributions, reasons, lang, routingKey, strictMode, ...rest }: BatchOptions,
): AnyInput {
  return {
    ...rest,
    path: { slug },
    headers: { 'X-Routing-Key': routingKey },
    body: {
      records,
      ...withoutUndefined({
        strict_mode: strictMode,
        include_contributions: includeContributions,
        include_reasons: reasons,
        lang,
      }),
    },
  }
}

/** @throws RangeError */
function checkedPart(records: number, max: number): number {
  if (Number.isInteger(records) && records >= 1 && records <= max) return records
  throw new RangeError(`partRecords is ${records}: give a whole number from 1 to ${max}`)
}

async function* partsOf<Item>(items: Iterable<Item> | AsyncIterable<Item>, size: number) {
  let part: Item[] = []
  for await (const item of items) {
    part.push(item)
    if (part.length < size) continue
    yield part
    part = []
  }
  if (part.length > 0) yield part
}

type Defined<Fields> = { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> }

/** Under `exactOptionalPropertyTypes`, a field that is undefined is not one that is absent. */
function withoutUndefined<Fields extends object>(fields: Fields): Defined<Fields> {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as Defined<Fields>
}
