import { insertEvent } from '../../outbox/writer.ts'
import type { StabilityEvents } from './alarm.ts'

/** Tells webhooks of changed verdicts. */
export const verdictEvents: StabilityEvents = {
  add: async (tx, { type, teamId, deploymentId, at, thresholds, ...change }) => {
    const data = { deployment_id: deploymentId, ...change, ...thresholds }
    await insertEvent(tx, { teamId, type, at, data })
  },
}
