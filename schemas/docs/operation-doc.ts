import type { TSchema } from '@sinclair/typebox'
import type { ErrorCode } from '../errors.ts'

/** What the operations are grouped by, in the order of their use. */
export const TAGS = {
  Sessions: 'Signing in with email and password, for management.',
  'API keys': 'Secrets with which servers score and read.',
  Members: 'Who belongs to the team, with which role.',
  'Audit log': 'Who changed what, when and why.',
  Models: 'Scorecards: what modelers export.',
  Deployments: 'What answers under a slug: a champion, and challengers beside it.',
  Scoring: 'Score, risk grade, probability of default and the points of each feature.',
  Scorecards:
    'The same under `/api/v1`, as the guides show it: a deployment is called a scorecard, a challenger goes by its version.',
} as const

/** What a caller reads of an operation beyond its schemas. */
export interface OperationDoc {
  readonly tag: keyof typeof TAGS
  /** In the imperative, without a full stop. */
  readonly summary: string
  /** Sentences: what the schemas can't say. */
  readonly description: string
  /** Each parameter of the path. */
  readonly params?: Readonly<Record<string, ParamDoc>>
  /** Headers of the request that have a meaning here; all can be left out. */
  readonly headers?: Readonly<Record<string, ParamDoc>>
  /** The body as the contract has it, where the route validates less because the service tells the faults. */
  readonly body?: TSchema
  /** What can go wrong here and not everywhere; the codes that come with access, body and quota are added. */
  readonly errors?: readonly ErrorCode[]
  /** Bodies by title; each works when its ids are replaced by real ones. */
  readonly request?: Readonly<Record<string, unknown>>
  readonly success: AnswerDoc
  /** Answers that tell by their status, but with a body of their own instead of the error body. */
  readonly others?: Readonly<Record<number, AnswerDoc>>
}

interface AnswerDoc {
  readonly description: string
  /** As the first request is answered; none where there is no body. */
  readonly example?: unknown
  /** Of a text that no schema describes; JSON when left out. */
  readonly mediaType?: string
  /** What else it can be, as an example by media type. */
  readonly texts?: Readonly<Record<string, string>>
}

export interface ParamDoc {
  readonly description: string
  readonly example: string
}
