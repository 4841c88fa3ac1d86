import type { TSchema } from '@sinclair/typebox'
import type { ErrorCode } from '../errors.ts'

/** Groups of operations: scoring, which most callers look for, then as a newcomer uses them. */
export const TAGS = {
  Scoring: 'Score, risk grade, probability of default and the points of each feature.',
  Sessions: 'Signing in with email and password, for management.',
  'API keys': 'Secrets that servers use to score and to read.',
  'Service accounts': 'Programs that manage the team with a role, without a password.',
  Members: 'The members of the team and their roles.',
  'Audit log': 'Who changed what, when and why.',
  Models: 'Registered scorecards.',
  Deployments: 'A slug that scores with a champion and, if any, its challengers.',
  'Change requests': 'Changes of deployments that wait for a second person.',
  Webhooks: 'Addresses that are told what happens, and what became of each message.',
  Reasons: 'Why a score is not better, against which applicants, and what would have changed it.',
  'Score log': 'Scores as they were answered: by request, by reference, and as a file.',
  Batches: 'Files of applicants that are scored by a job, and their results.',
  Jobs: 'Work that takes longer than a request: its state, its result, and its end.',
  Stability:
    'Whether a card still fits its applicants, what a cut-off would do, and whether a challenger would be better.',
  Outcomes: 'What became of applicants, and how good their scores were.',
  Scorecards:
    'Scoring and deployments under `/api/v1`. There a deployment is called a scorecard, and a version names a challenger.',
} as const

/** Documentation of an operation beyond its schemas. */
export interface OperationDoc {
  readonly tag: keyof typeof TAGS
  /** Imperative, without a full stop. */
  readonly summary: string
  /** Full sentences about what the schemas can't express. */
  readonly description: string
  /** Each parameter of the path. */
  readonly params?: Readonly<Record<string, ParamDoc>>
  /** Query of an example call, where it needs one. */
  readonly query?: Readonly<Record<string, string>>
  /** Request headers that this operation reads; all are optional. */
  readonly headers?: Readonly<Record<string, ParamDoc>>
  /** Documented body, if the route's schema is looser because the service validates it. */
  readonly body?: TSchema
  /** Error codes of this operation; those of access, body and quota are added to them. */
  readonly errors?: readonly ErrorCode[]
  /** Example bodies by title. Each one works with real ids. */
  readonly request?: Readonly<Record<string, unknown>>
  /** Content types of a body that is a file, each with an example. */
  readonly files?: Readonly<Record<string, string>>
  readonly success: ResponseDoc
  /** Responses of other statuses, also of other successes, whose body is not the error body. */
  readonly others?: Readonly<Record<number, ResponseDoc>>
}

interface ResponseDoc {
  readonly description: string
  /** Response to the first example request; absent without a body. */
  readonly example?: unknown
  /** Media type of a response without a schema; default: JSON. */
  readonly mediaType?: string
  /** Headers of this response, each of which may be absent. */
  readonly headers?: Readonly<Record<string, ParamDoc>>
  /** Examples of alternative text responses, by media type. */
  readonly texts?: Readonly<Record<string, string>>
}

export interface ParamDoc {
  readonly description: string
  readonly example: string
}
