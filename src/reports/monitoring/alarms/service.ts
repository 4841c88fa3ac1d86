import type { Static } from '@sinclair/typebox'
import {
  ALARM_DAYS_DEFAULT,
  type AlarmRequest,
  type DeploymentHistory,
  HISTORY_CHANGES_MAX,
  HISTORY_KINDS,
  HISTORY_VERDICTS_MAX,
  type HistoryQuery,
} from '../../../../schemas/alarms.ts'
import { ACT_DEFAULT, WATCH_DEFAULT } from '../../../../schemas/monitoring-query.ts'
import { AppError } from '../../../errors.ts'
import type { Caller, UserCaller } from '../../../http/access/caller.ts'
import { readTimeRange } from '../../../log/index.ts'
import type { AlarmLevels } from '../../../registry/deployments/deployment.ts'
import type { DeploymentService, Outcome } from '../../../registry/deployments/service.ts'
import type { Monitored } from '../monitored.ts'
import type { Alarm, LoggedChange } from './alarm.ts'
import type { AlarmStore } from './store.ts'

interface AlarmServiceOptions {
  readonly store: AlarmStore
  readonly monitored: Pick<Monitored, 'deployment'>
  readonly deployments: Pick<DeploymentService, 'order'>
}

/** Verdicts that change every hour must not push promotions out. */
const HISTORY_LIMITS = { changes: HISTORY_CHANGES_MAX, verdicts: HISTORY_VERDICTS_MAX }

/** Levels in force until others are set; nothing is evaluated with them. */
const NO_LEVELS: AlarmLevels = {
  isOn: false,
  watch: WATCH_DEFAULT,
  act: ACT_DEFAULT,
  nMin: 0,
  days: ALARM_DAYS_DEFAULT,
}

/** The state before the first evaluation of a champion. */
const NOT_EVALUATED: Omit<Alarm, 'deploymentId' | keyof AlarmLevels> = {
  verdict: null,
  n: null,
  psi: null,
  moved: [],
  basis: null,
  evaluatedAt: null,
  changedAt: null,
}

/** Levels at which a deployment's stability is an alarm, and what has changed there. */
export class AlarmService {
  private readonly options: AlarmServiceOptions

  constructor(options: AlarmServiceOptions) {
    this.options = options
  }

  /**
   * The levels and the last evaluation of the champion. That of a former champion says nothing
   * about the one of now.
   *
   * @throws AppError `deployment_not_found`
   */
  async get(caller: Caller, slug: string): Promise<Alarm> {
    const { store, monitored } = this.options
    const { championId } = await monitored.deployment(caller, slug)
    const found = await store.find(slug)
    if (found === null) return { deploymentId: slug, ...NO_LEVELS, ...NOT_EVALUATED }
    return found.basis?.modelId === championId ? found : { ...found, ...NOT_EVALUATED }
  }

  /**
   * Sets the levels, or asks for them where changes wait for a second person; what is left out gets
   * its default.
   *
   * @throws AppError `deployment_not_found`, `limit_reached`; `invalid_request` for a level to
   *   watch from above the one to act from
   */
  async set(
    caller: UserCaller,
    slug: string,
    wanted: Static<typeof AlarmRequest>,
  ): Promise<Outcome<Alarm>> {
    const { monitored, deployments } = this.options
    await monitored.deployment(caller, slug)
    const levels: AlarmLevels = {
      isOn: wanted.is_on ?? true,
      watch: wanted.watch ?? WATCH_DEFAULT,
      act: wanted.act ?? ACT_DEFAULT,
      nMin: wanted.n_min ?? NO_LEVELS.nMin,
      days: wanted.days ?? ALARM_DAYS_DEFAULT,
    }
    if (levels.watch > levels.act) {
      throw new AppError('invalid_request', 'watch must not be above act')
    }
    const order = { action: 'set_alarm', levels } as const
    const outcome = await deployments.order(caller, slug, () => order)
    if ('waiting' in outcome) return outcome
    return { done: await this.get(caller, slug) }
  }

  /**
   * Returns what has changed in a deployment and when, so that charts can mark it. Not who changed
   * it: that is in the audit log, for owners and admins.
   *
   * @throws AppError `deployment_not_found`, `invalid_request`
   */
  async history(
    caller: Caller,
    slug: string,
    query: Static<typeof HistoryQuery>,
  ): Promise<DeploymentHistory> {
    const { store, monitored } = this.options
    const range = readTimeRange(query)
    await monitored.deployment(caller, slug)
    const { teamId } = caller
    const logged = await store.changes({ teamId, deploymentId: slug }, range, HISTORY_LIMITS)
    const states = logged.map(({ state }) => readState(state))
    const modelIds = states.flatMap(({ championId, challengers }) => [
      ...(championId === null ? [] : [championId]),
      ...challengers.map(({ modelId }) => modelId),
    ])
    const versions = await store.findVersions(teamId, [...new Set(modelIds)])
    const findVersion = (id: string | null) => (id === null ? null : (versions.get(id) ?? null))
    return {
      deployment_id: slug,
      changes: logged.flatMap((change, index) => {
        const kind = HISTORY_KINDS.find((known) => known === change.kind)
        const state = states[index] ?? readState(null)
        if (kind === undefined) return []
        return [
          {
            at: change.at.toISOString(),
            kind,
            champion_model_id: state.championId,
            champion_version: findVersion(state.championId),
            shadow_mode: state.isShadow,
            is_active: state.isActive,
            challengers: state.challengers.map(({ modelId, trafficPct }) => ({
              model_id: modelId,
              version: findVersion(modelId),
              traffic_pct: trafficPct,
            })),
            verdict: change.verdict,
          },
        ]
      }),
    }
  }
}

interface State {
  readonly championId: string | null
  readonly isShadow: boolean | null
  readonly isActive: boolean | null
  readonly challengers: readonly { readonly modelId: string; readonly trafficPct: number }[]
}

/** Reads a state as `auditedState` writes it; records of other changes have parts of it. */
function readState(logged: LoggedChange['state']): State {
  const state = (logged ?? {}) as Readonly<Record<string, unknown>>
  const challengers = Array.isArray(state['challengers']) ? state['challengers'] : []
  const flag = (name: string) => (typeof state[name] === 'boolean' ? state[name] : null)
  const championId = state['champion_model_id']
  return {
    championId: typeof championId === 'string' ? championId : null,
    isShadow: flag('shadow_mode'),
    isActive: flag('is_active'),
    challengers: challengers.map((one: Readonly<Record<string, unknown>>) => ({
      modelId: String(one['model_id']),
      trafficPct: Number(one['traffic_pct']),
    })),
  }
}
