import type { ModelScore, ReasonRules, ScorecardSpec } from '../engine/index.ts'
import type { Environment } from '../http/access/caller.ts'
import type { ModelParts, PreparedHead, RecordBytes } from '../log/index.ts'
import type { ReasonTexts } from './reason-texts.ts'
import type { ResponseParts } from './response.ts'

/** A deployment as the database has it, read at one moment. */
export interface DeploymentState {
  readonly deploymentId: string
  readonly teamId: string
  readonly environment: Environment
  readonly isActive: boolean
  readonly shadowMode: boolean
  /** If true, every request is strict, even one that does not ask for it. */
  readonly strictMode: boolean
  readonly cacheVersion: number
  readonly championModelId: string
  /** The champion's reason baseline in force; null for none. */
  readonly baselineId: string | null
  /** Active ones, oldest first. */
  readonly challengers: readonly ChallengerState[]
}

interface ChallengerState {
  readonly challengerId: string
  readonly modelId: string
  /** Its reason baseline in force; null for none. */
  readonly baselineId: string | null
  /** Its buckets in a live split, see `allotBuckets`. */
  readonly bucketRanges: readonly number[]
}

/** A model ready to score: compiled, with the parts of its answers written out. */
export interface ServingModel {
  readonly modelId: string
  /**
   * Scratch space: filled and read within one turn of the event loop. It knows the features of the
   * deployment's other models.
   */
  readonly modelScore: ModelScore
  readonly responseParts: ResponseParts
  /** The parts of its results in the score log. */
  readonly logParts: ModelParts
  /** Null if the model has no rules for reasons, or needs a baseline and none is in force. */
  readonly reasonTexts: ReasonTexts | null
  readonly baselineId: string | null
  /** The source of `reasonTexts`; null for a model without rules. */
  readonly reasonSource: ReasonSource | null
}

interface ReasonSource {
  readonly spec: ScorecardSpec
  readonly rules: ReasonRules
}

export interface ServingChallenger {
  readonly challengerId: string
  /** Null if the model can't be made ready: then it scores nothing, and the others go on. */
  readonly serving: ServingModel | null
  /** The start of its shadow scores. */
  readonly shadowText: string
  /** Indexes of its features that the champion does not have. */
  readonly ownFeatures: readonly number[]
}

/** One consistent state of a deployment; a request uses one from its start to its end. */
export interface ServingDeployment {
  readonly state: DeploymentState
  readonly champion: ServingModel
  readonly challengers: readonly ServingChallenger[]
  /** The position of the model for each bucket of a live split; null without one. */
  readonly assignments: Int16Array | null
  /** The start of its records in the score log. */
  readonly logHead: PreparedHead
  readonly logBytes: RecordBytes
}
