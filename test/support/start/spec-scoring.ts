import type { ScoreKey } from '../../../src/log/index.ts'
import { systemClock } from '../../../src/platform/clock.ts'
import { newId } from '../../../src/platform/ids.ts'
import { ChallengerFailures } from '../../../src/scoring/challenger-failures.ts'
import { ServingCache } from '../../../src/scoring/model-cache.ts'
import type { BatchRequest, SingleRequest } from '../../../src/scoring/requests.ts'
import { ScoringService } from '../../../src/scoring/service.ts'
import type { DeploymentState } from '../../../src/scoring/serving.ts'
import { MemoryScoreLog } from '../score-log/memory-score-log.ts'

const CALLER = {
  kind: 'key',
  keyId: 'key_1',
  teamId: 'team_1',
  scopes: ['score'],
  environment: null,
  rateLimitPerMinute: null,
  expiresAtMs: Number.POSITIVE_INFINITY,
  admitsAddress: null,
} as const

const SHA256 = new Uint8Array(32).fill(1)

/**
 * Scoring as production wires it, over specs that are stored already; the champion's first, the
 * others in shadow.
 */
export class SpecScoring {
  readonly log = new MemoryScoreLog()
  private readonly deploymentId = newId('dep_', systemClock.epochMs())
  private readonly scoring: ScoringService

  constructor(...specs: readonly object[]) {
    const modelIds = specs.map((_, index) => `mod_${index}`)
    const state: DeploymentState = {
      deploymentId: this.deploymentId,
      teamId: CALLER.teamId,
      environment: 'production',
      isActive: true,
      shadowMode: true,
      strictMode: false,
      cacheVersion: 1,
      championModelId: 'mod_0',
      baselineId: null,
      challengers: modelIds.slice(1).map((modelId) => ({
        challengerId: `ch_${modelId}`,
        modelId,
        baselineId: null,
        bucketRanges: [],
      })),
    }
    const challengerFaults = new ChallengerFailures(systemClock, () => undefined)
    const cache = new ServingCache({
      store: {
        deploymentState: async () => state,
        readSpec: async (modelId) => {
          const spec = specs[modelIds.indexOf(modelId)]
          return spec === undefined ? null : { spec, sha256: SHA256 }
        },
        baseline: async () => null,
      },
      clock: systemClock,
      ttlMs: 60_000,
      unavailableTtlMs: 60_000,
      challengerFaults,
    })
    this.scoring = new ScoringService({
      cache,
      challengerFailures: challengerFaults,
      log: this.log,
      clock: systemClock,
    })
  }

  /** @throws AppError as the service gives it */
  async score(
    applicant: SingleRequest['applicant'],
    key?: ScoreKey,
  ): Promise<{ risk_grade: string | null }> {
    const text = await this.answered<string>((request, answered) => {
      const single = { ...request, applicant, reservedName: undefined, ...(key && { key }) }
      this.scoring.score(CALLER, single, answered)
    })
    return JSON.parse(text)
  }

  /** @throws AppError as the service gives it */
  async scoreBatch(records: BatchRequest['records']): Promise<{ total: number }> {
    const { bytes } = await this.answered<{ bytes: Buffer }>((request, answered) =>
      this.scoring.scoreBatch(
        CALLER,
        { ...request, records, includeContributions: false },
        answered,
      ),
    )
    return JSON.parse(bytes.toString())
  }

  private answered<Answer>(
    ask: (
      request: Omit<SingleRequest, 'applicant' | 'reservedName'>,
      answered: (outcome: Answer | Error) => void,
    ) => void,
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const request = {
        requestId: newId('req_', systemClock.epochMs()),
        deploymentId: this.deploymentId,
        strictMode: false,
        form: 'deployment' as const,
        routingKey: undefined,
        reference: null,
        receivedAtMs: 0,
      }
      ask(request, (outcome) => (outcome instanceof Error ? reject(outcome) : resolve(outcome)))
    })
  }
}
