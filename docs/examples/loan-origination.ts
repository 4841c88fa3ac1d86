import {
  type components,
  NoAnswerError,
  type ScorelineClient,
  ScorelineError,
} from 'scoreline-client'

/** What an applicant says, and the number that the lender gave the application. */
export interface Application {
  readonly number: string
  readonly features: Readonly<Record<string, number | string | null>>
}

export interface Decision {
  readonly outcome: 'approved' | 'declined' | 'referred'
  /** The score that it rests on; null without one. */
  readonly score: number | null
  /** Where the score stands in the log; null without one. */
  readonly requestId: string | null
  readonly why: string
}

/** Why there is no score, for whoever decides without one. */
export type NoScore = ScorelineError | NoAnswerError

export interface Lender {
  /** Its key has the scopes `score` and `read`. */
  readonly client: ScorelineClient
  readonly slug: string
  /** Scores from here on are approved. */
  readonly cutoff: number
  /**
   * What happens to an application without a score. It has no default, because it is a decision of
   * the lender: see docs/errors.md, "When no score comes".
   */
  readonly withoutScore: (application: Application, error: NoScore) => Promise<Decision>
}

/** An applicant waits at a screen. Three attempts of a second fit into three and a half. */
const WAIT = {
  timeoutMs: 1_000,
  attemptsMax: 3,
  deadlineMs: 3_500,
}
/** The log shows an answer within two seconds. */
const READ_BACK_WAITS_MS = [0, 700, 1_400]

/**
 * Decides on an application by its score.
 *
 * An application whose features have changed is another question: give it another number.
 *
 * Calling it again for the same application, also from another process, gives the same answer for
 * 24 hours, and the applicant stays logged once.
 *
 * @throws ScorelineError where the request or the configuration is wrong: that is an alarm for
 *   engineers, and never a reason to decide without a score
 */
export async function decide(application: Application, lender: Lender): Promise<Decision> {
  const { client, slug, cutoff } = lender
  const { number, features } = application
  try {
    const scored = await client.score(slug, features, {
      ...WAIT,
      reference: number,
      idempotencyKey: `application ${number}`,
    })
    checkNamed(scored.warnings)
    return decisionOf(scored.score, scored.request_id, cutoff)
  } catch (error) {
    if (!isWithoutScore(error)) throw error
    // The service may have scored, and only its answer was lost.
    const logged = await readBack(number, lender)
    if (logged === null) return lender.withoutScore(application, error)
    return decisionOf(logged.score, logged.requestId, cutoff)
  }
}

/** The choice of most lenders: a person decides, or the application is scored later. */
export async function refer({ number }: Application, error: NoScore): Promise<Decision> {
  const why = `no score for ${number}: ${error.message}`
  return { outcome: 'referred', score: null, requestId: null, why }
}

function decisionOf(score: number, requestId: string, cutoff: number): Decision {
  const isApproved = score >= cutoff
  const why = `score ${score}, cut-off ${cutoff}`
  return { outcome: isApproved ? 'approved' : 'declined', score, requestId, why }
}

/** The service is away or busy. All other errors are faults of the caller. */
function isWithoutScore(error: unknown): error is NoScore {
  if (error instanceof NoAnswerError) return true
  if (!(error instanceof ScorelineError)) return false
  return ['unavailable', 'rate_limited', 'internal_error', 'idempotency_in_progress'].includes(
    error.code,
  )
}

/** The newest score of the application; null while the log shows none. */
async function readBack(number: string, { client, slug }: Lender) {
  for (const waitMs of READ_BACK_WAITS_MS) {
    await new Promise((resolve) => setTimeout(resolve, waitMs))
    const found = await client
      .call('GET', '/v1/scores', {
        query: { reference: number, deployment: slug },
        timeoutMs: 500,
        attemptsMax: 1,
      })
      .catch(noneWhileAway)
    const [newest] = found.scores
    if (newest === undefined || newest.score === null) continue
    return { score: newest.score, requestId: newest.request_id }
  }
  return null
}

const NONE: components['schemas']['FoundScores'] = { scores: [] }

function noneWhileAway(error: unknown) {
  if (isWithoutScore(error)) return NONE
  throw error
}

/** A client that drops the features scores every applicant alike. */
function checkNamed(warnings: components['schemas']['ScoreResult']['warnings']): void {
  const [first] = warnings
  if (typeof first === 'string' && first.startsWith('no_features')) throw new Error(first)
}
