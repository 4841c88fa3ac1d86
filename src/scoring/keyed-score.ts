import type { KeyedScore } from '../http/idempotency/score-claims/score-claims.ts'
import type { KeptAnswer } from '../http/idempotency/sealer.ts'
import { JSON_TYPE } from '../http/reply.ts'
import type { SingleRequest } from './requests.ts'

/** The answers that the score log can give again, see `RemadeAnswers`. */
export interface LoggedAnswers {
  remakeSoon(request: SingleRequest, firstId: string, waitMs: number): Promise<string | null>
  isLogged(firstId: string): Promise<boolean>
}

/** Longest time that a repetition waits for the record of the first request. */
const REMAKE_WAIT_MS = 3_000

/** Makes the part of a request for a score that idempotency needs. */
export function makeKeyedScore(answers: LoggedAnswers, request: SingleRequest): KeyedScore {
  return {
    requestId: request.requestId,
    remake: async (firstId) => {
      const text = await answers.remakeSoon(request, firstId, REMAKE_WAIT_MS)
      return text === null ? null : scoreAnswer(firstId, text)
    },
    isLogged: (firstId) => answers.isLogged(firstId),
  }
}

/** The answer to a score, as it is given again. */
export function scoreAnswer(requestId: string, text: string): KeptAnswer {
  return {
    status: 200,
    contentType: JSON_TYPE,
    cacheControl: null,
    requestId,
    body: Buffer.from(text),
  }
}
