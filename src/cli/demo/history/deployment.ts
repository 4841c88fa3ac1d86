import { checkSpec, compileModel } from '../../../engine/index.ts'
import type { Environment, KeyCaller } from '../../../http/access/caller.ts'
import { makeOptions } from '../../../jobs/batches/options.ts'
import { newId } from '../../../platform/ids.ts'
import type { Outcome } from '../../../registry/deployments/service.ts'
import { countSample } from '../../../reports/monitoring/sample-counts.ts'
import type { Services } from '../../../services.ts'
import type { DemoApplicant } from '../client.ts'
import { type DemoSpec, recounted } from './cards.ts'
import type { HistoryClock } from './clock.ts'
import type { DemoStaff } from './colleagues.ts'

const SHADOW_PCT = 10
/** AUC of the cards in development, among accounts that were booked. It is made up. */
const DEVELOPMENT_AUC = 0.71
const APPROVED_AFTER_MS = 40 * 60_000

export interface DemoTeam {
  readonly services: Services
  readonly clock: HistoryClock
  readonly staff: DemoStaff
  readonly sample: readonly DemoApplicant[]
}

interface NewDemoDeployment {
  readonly spec: DemoSpec
  readonly description: string
  readonly environment: Environment
  readonly keyName: string
}

export class DemoDeployment {
  readonly id: string
  private readonly team: DemoTeam
  private readonly environment: Environment
  private readonly keySecret: string
  private readonly key: KeyCaller
  private challengerId = ''

  private constructor(
    team: DemoTeam,
    { id, environment }: { readonly id: string; readonly environment: Environment },
    { keySecret, key }: { readonly keySecret: string; readonly key: KeyCaller },
  ) {
    this.team = team
    this.id = id
    this.environment = environment
    this.keySecret = keySecret
    this.key = key
  }

  static async begin(team: DemoTeam, wanted: NewDemoDeployment): Promise<DemoDeployment> {
    const { environment, keyName: name } = wanted
    const { deploymentId: id } = await register(team, wanted, true)
    const { keys } = team.services
    const wantedKey = { name, scopes: ['score'], environment }
    const { keySecret } = await keys.issue(team.staff.approver, wantedKey)
    const key = await keys.findCaller(keySecret)
    if (id === null || key === null) throw new Error('the history has no deployment')
    return new DemoDeployment(team, { id, environment }, { keySecret, key })
  }

  /** Presents the key, so that the service knows when it was used last. */
  async presentKey(): Promise<void> {
    await this.team.services.keys.findCaller(this.keySecret)
  }

  /** Scores one applicant at the time of the clock, and waits until the record is safe. */
  score(
    applicant: DemoApplicant['applicant'],
    reference: string,
  ): Promise<{ readonly score: number; readonly pd: number }> {
    const { services, clock } = this.team
    const request = {
      requestId: newId('req_', clock.epochMs()),
      deploymentId: this.id,
      strictMode: false,
      form: 'deployment',
      routingKey: undefined,
      receivedAtMs: clock.monotonicMs(),
      applicant,
      reference,
      reservedName: undefined,
    } as const
    return new Promise((resolve, reject) => {
      services.scoring.score(this.key, request, (outcome) =>
        outcome instanceof Error ? reject(outcome) : resolve(JSON.parse(outcome)),
      )
    })
  }

  /** Starts to score a file of applicants, each with a reference. */
  async scoreFile(applicants: readonly object[]): Promise<void> {
    const { batches } = this.team.services
    const order = { deploymentId: this.id, options: makeOptions('ndjson', {}) }
    const lines = applicants.map((applicant) => `${JSON.stringify(applicant)}\n`)
    const upload = await batches.receive(this.key, order, inOnePart(lines.join('')))
    try {
      await batches.upload(this.key, upload)
    } finally {
      await upload.discard()
    }
  }

  /** Sets the cut-off and the alarm; from then on changes wait for a second person. */
  async putUnderControl(cutoff: number, alarmDays: number): Promise<void> {
    const { services, staff } = this.team
    await services.alarms.set(staff.approver, this.id, { days: alarmDays })
    const settings = { cutoff, requireApproval: true }
    await services.deployments.update(staff.approver, this.id, settings)
  }

  async addShadow(spec: DemoSpec, description: string): Promise<void> {
    const { services, staff } = this.team
    const { modelId } = await register(this.team, {
      spec,
      description,
      environment: this.environment,
    })
    const ask = (body: object) => services.deployments.manageTraffic(staff.modeler, this.id, body)
    const { shadowMode } = await services.deployments.get(staff.modeler.teamId, this.id)
    if (!shadowMode) await this.approve(await ask({ action: 'toggle_shadow', shadow_mode: true }))
    const challenger = { action: 'add_challenger', model_id: modelId, traffic_pct: SHADOW_PCT }
    await this.approve(await ask(challenger), 'It answers nobody while it is in shadow mode.')
    const { challengers } = await services.deployments.get(staff.modeler.teamId, this.id)
    this.challengerId = challengers[0]?.id ?? ''
  }

  async promoteChallenger(reason: string, comment: string): Promise<void> {
    await this.approve(await this.askForPromotion(reason), comment)
  }

  /** Asks to promote the challenger, which waits for a second person. */
  askForPromotion(reason: string): Promise<Outcome<unknown>> {
    const { services, staff } = this.team
    const order = { action: 'promote', challengerId: this.challengerId, reason } as const
    return services.deployments.promote(staff.modeler, this.id, () => order)
  }

  /** Lets the approver agree, some time after the request. */
  private async approve(outcome: Outcome<unknown>, comment?: string): Promise<void> {
    if ('done' in outcome) return
    const { services, clock, staff } = this.team
    const askedMs = clock.epochMs()
    clock.set(askedMs + APPROVED_AFTER_MS)
    await services.approvals.approve(staff.approver, outcome.waiting.id, comment)
  }
}

/**
 * Registers a card with its development sample.
 *
 * @returns ids of the model and of its new deployment, if it was to get one
 */
async function register(
  { services, staff, sample }: DemoTeam,
  { spec, description, environment }: Omit<NewDemoDeployment, 'keyName'>,
  autoDeploy = false,
) {
  const counts = countApplicants(spec, sample)
  const deployed = await services.models.deploy(staff.modeler, {
    spec: recounted(spec, counts.features),
    environment,
    description,
    autoDeploy,
  })
  const { id } = deployed.model
  await services.baselines.put(staff.modeler, id, { counts, development_auc: DEVELOPMENT_AUC })
  return { modelId: id, deploymentId: deployed.deployment?.id ?? null }
}

function countApplicants(spec: DemoSpec, sample: readonly DemoApplicant[]) {
  const checked = checkSpec(spec)
  if (!checked.ok) throw new Error('the card of the sample has faults')
  const card = { spec: checked.spec, model: compileModel(checked.spec) }
  return countSample(
    card,
    sample.map(({ applicant }) => applicant),
  ).counts
}

async function* inOnePart(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}
