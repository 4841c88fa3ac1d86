export { type Applicant, type FeatureValue, InvalidApplicantError } from './applicant.ts'
export type { Answer, CallOptions, Input, Method, Operation, PathOf } from './calls.ts'
export {
  type BatchOptions,
  type OutcomeItem,
  ScorelineClient,
  type ScoreOptions,
} from './client.ts'
export {
  CallError,
  type ErrorCode,
  type ErrorDetail,
  NoAnswerError,
  ScorelineError,
} from './errors.ts'
export { InvalidHeaderError } from './headers.ts'
export type { components, operations, paths } from './openapi.ts'
export { RETRY_DEFAULTS, type RetryRules } from './retry.ts'
export type { ClientOptions, NotKept, Retry } from './transport.ts'
