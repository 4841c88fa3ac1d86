import {
  TRAFFIC_PCT_MAX as LIVE_PCT_MAX,
  SHADOW_PCT_MAX,
  TRAFFIC_PCT_MIN,
} from '../../../schemas/deployments.ts'
import type { ErrorDetail } from '../../errors.ts'

/** The valid fields of a request to add a challenger, and its faults. */
export interface ChallengerSettings {
  readonly version: string | null
  readonly mode: 'shadow' | 'live' | null
  readonly trafficPct: number | null
  readonly faults: readonly ErrorDetail[]
}

const KNOWN_FIELDS = ['challenger_version', 'mode', 'traffic_pct']

/**
 * Reads the body of a request to add a challenger. It collects faults like `readTrafficSettings`.
 *
 * @param body any JSON value
 */
export function readChallengerSettings(body: unknown): ChallengerSettings {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    const faults = [{ path: '', message: 'must be an object' }]
    return { version: null, mode: null, trafficPct: null, faults }
  }
  const fields = body as Readonly<Record<string, unknown>>
  const { challenger_version: version, mode, traffic_pct: pct } = fields
  const faults: ErrorDetail[] = Object.keys(fields)
    .filter((name) => !KNOWN_FIELDS.includes(name))
    .map((path) => ({ path, message: 'is not a known property' }))
  const isVersion = typeof version === 'string'
  if (!isVersion) {
    faults.push({ path: 'challenger_version', message: 'must be the version of a model' })
  }
  const isMode = mode === 'shadow' || mode === 'live'
  if (!isMode) faults.push({ path: 'mode', message: 'must be shadow or live' })
  const pctMax = mode === 'live' ? LIVE_PCT_MAX : SHADOW_PCT_MAX
  const isPct = typeof pct === 'number' && pct >= TRAFFIC_PCT_MIN && pct <= pctMax
  if (!isPct) {
    const message = `must be a number from ${TRAFFIC_PCT_MIN} to ${pctMax}`
    faults.push({ path: 'traffic_pct', message })
  }
  return {
    version: isVersion ? version : null,
    mode: isMode ? mode : null,
    trafficPct: isPct ? pct : null,
    faults,
  }
}
