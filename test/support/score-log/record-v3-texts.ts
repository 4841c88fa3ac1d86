import type { ScoreSheet } from '../engine/index.ts'
import type { ModelParts } from './model-parts.ts'
import { FIELD_SEPARATOR, RECORD_VERSION, type ScoreRecord } from './record.ts'

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
    this.deploymentText = [teamId, deploymentId, cacheVersion, models.length].join(FIELD_SEPARATOR)
    this.modelIds = models.map(({ modelId }) => modelId)
  }

  /** The fields behind the results. */
  facts(request: RequestFacts, { scores, pds, grades }: ServedTexts): string {
    const { requestId, scoredAtMs, keyId, bucket, latencyMs, isBatch, served } = request
    const modelId = this.modelIds[served]
    return `${scoredAtMs}\x1f${requestId}\x1f${this.deploymentText}\x1f${keyId}\x1f${bucket ?? ''}\x1f${latencyMs}\x1f${isBatch}\x1f${served}\x1f${modelId}\x1f{${scores}}\x1f{${pds}}\x1f[${grades}]\x1f${RECORD_VERSION}`
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
