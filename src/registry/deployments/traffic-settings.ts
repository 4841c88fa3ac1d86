import { TRAFFIC_PCT_MAX, TRAFFIC_PCT_MIN } from '../../../schemas/deployments.ts'
import type { ErrorDetail } from '../../errors.ts'
import type { DeploymentOrder } from './order.ts'
import { trafficFault } from './succession.ts'

const TRAFFIC_ACTIONS = [
  'add_challenger',
  'remove_challenger',
  'update_traffic',
  'toggle_shadow',
] as const
export type TrafficAction = (typeof TRAFFIC_ACTIONS)[number]

/** The valid fields of a traffic request, and its faults. */
interface TrafficSettings {
  readonly action: TrafficAction | null
  readonly modelId: string | null
  readonly challengerId: string | null
  readonly trafficPct: number | null
  readonly shadowMode: boolean | null
  readonly acceptFeatures: boolean
  readonly faults: readonly ErrorDetail[]
}

/** May stand beside every action. */
export const ACCEPT_FEATURES = 'accept_features'

type Field = 'model_id' | 'challenger_id' | 'traffic_pct' | 'shadow_mode'

const FIELDS_OF: Readonly<Record<TrafficAction, readonly Field[]>> = {
  add_challenger: ['model_id', 'traffic_pct'],
  remove_challenger: ['challenger_id'],
  update_traffic: ['challenger_id', 'traffic_pct'],
  toggle_shadow: ['shadow_mode'],
}
const KNOWN_FIELDS = new Set(['action', ACCEPT_FEATURES, ...Object.values(FIELDS_OF).flat()])

/**
 * Reads the body of a traffic request. It collects faults instead of throwing, because a 404 for a
 * missing model or challenger takes precedence. Fields of other actions are ignored.
 *
 * @param body any JSON value
 */
export function readTrafficSettings(body: unknown): TrafficSettings {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    return { ...NOTHING, faults: [{ path: '', message: 'must be an object' }] }
  }
  const fields = body as Readonly<Record<string, unknown>>
  const faults: ErrorDetail[] = []
  const action = TRAFFIC_ACTIONS.find((known) => known === fields['action']) ?? null
  if (action === null) {
    faults.push({ path: 'action', message: `must be one of ${TRAFFIC_ACTIONS.join(', ')}` })
  }
  for (const name of Object.keys(fields)) {
    if (!KNOWN_FIELDS.has(name)) faults.push({ path: name, message: 'is not a known property' })
  }
  const { [ACCEPT_FEATURES]: acceptFeatures = false } = fields
  if (!isBoolean(acceptFeatures)) {
    faults.push({ path: ACCEPT_FEATURES, message: 'must be true or false' })
  }
  const wanted = action === null ? [] : FIELDS_OF[action]
  const read = <Value>(field: Field, isRight: (value: unknown) => value is Value, what: string) => {
    if (!wanted.includes(field)) return null
    const value = fields[field]
    if (isRight(value)) return value
    const message = value === undefined ? `is required by ${action}: ${what}` : `must be ${what}`
    faults.push({ path: field, message })
    return null
  }
  return {
    action,
    modelId: read('model_id', isText, 'the id of a model'),
    challengerId: read('challenger_id', isText, 'the id of a challenger entry'),
    trafficPct: read(
      'traffic_pct',
      isPercentage,
      `a number from ${TRAFFIC_PCT_MIN} to ${TRAFFIC_PCT_MAX}`,
    ),
    shadowMode: read('shadow_mode', isBoolean, 'true or false'),
    acceptFeatures: acceptFeatures === true,
    faults,
  }
}

/**
 * The order of a traffic request.
 *
 * @param newEntryId id of an entry that it adds
 * @throws AppError `invalid_traffic_config`
 */
export function trafficOrder(settings: TrafficSettings, newEntryId: string): DeploymentOrder {
  const { faults, modelId, challengerId, trafficPct, shadowMode, acceptFeatures } = settings
  if (faults.length > 0) throw trafficFault(faults)
  if (modelId !== null && trafficPct !== null) {
    return {
      action: 'add_challenger',
      challengerId: newEntryId,
      modelId,
      trafficPct,
      shadowMode: null,
      isLimited: true,
      acceptFeatures,
    }
  }
  if (challengerId === null) {
    return { action: 'toggle_shadow', shadowMode: shadowMode === true, acceptFeatures }
  }
  return trafficPct === null
    ? { action: 'remove_challenger', challengerId, acceptFeatures }
    : { action: 'update_traffic', challengerId, trafficPct, acceptFeatures }
}

const NOTHING = {
  action: null,
  modelId: null,
  challengerId: null,
  trafficPct: null,
  shadowMode: null,
  acceptFeatures: false,
}

const isText = (value: unknown): value is string => typeof value === 'string'
const isBoolean = (value: unknown): value is boolean => typeof value === 'boolean'
const isPercentage = (value: unknown): value is number =>
  typeof value === 'number' && value >= TRAFFIC_PCT_MIN && value <= TRAFFIC_PCT_MAX
