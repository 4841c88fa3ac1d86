import {
  FIELD_SEPARATOR,
  RECORD_VERSION,
  type ScoreRecord,
} from '../../../src/score-log/record/record-v3.ts'

// Writes records of version 3, as the service did before version 4. Only tests and measurements
// still need it.

/** The texts that all records of a deployment share. */
export class DeploymentTexts {
  /** Start of the results. */
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

  /** The fields after the results, as one text. */
  facts(request: RequestFacts, { scores, pds, grades }: ServedTexts): string {
    const { requestId, scoredAtMs, keyId, bucket, latencyMs, isBatch, served } = request
    const modelId = this.modelIds[served]
    return (
      `${scoredAtMs}\x1f${requestId}\x1f${this.deploymentText}\x1f${keyId}\x1f${bucket ?? ''}` +
      `\x1f${latencyMs}\x1f${isBatch}\x1f${served}\x1f${modelId}` +
      `\x1f{${scores}}\x1f{${pds}}\x1f[${grades}]\x1f${RECORD_VERSION}`
    )
  }
}

/** Results of the model that answers, one applicant after the other. */
export class ServedTexts {
  scores = ''
  pds = ''
  grades = ''
}

/** The fields that differ between the records of one deployment. */
export type RequestFacts = Pick<
  ScoreRecord,
  'requestId' | 'scoredAtMs' | 'keyId' | 'bucket' | 'latencyMs' | 'isBatch' | 'served'
>
