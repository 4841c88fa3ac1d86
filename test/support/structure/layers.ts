/**
 * The rooms of `src` from the ground up: a room imports rooms of its own layer and of lower layers.
 *
 * A room is a folder directly below `src`, or a file there. Put a new room in the lowest layer that
 * is above all rooms it imports.
 */
export const LAYERS: readonly (readonly string[])[] = [
  ['errors.ts'],
  // Code that knows no domain, the arithmetic of a score, and the tables of the database.
  ['engine', 'platform', 'tables'],
  // Callers, sums by time, and what is to be sent to webhooks.
  ['access', 'rollups', 'outbox'],
  // The parts that all routes share, and the record of every change.
  ['http', 'audit'],
  // Protection of the service and of its callers, and the record of its scores.
  ['auth', 'rate-limit', 'overload', 'idempotency', 'score-log', 'jobs'],
  // The domains.
  ['keys', 'deployments', 'webhooks'],
  ['models', 'service-accounts', 'teams', 'access-review'],
  ['scoring', 'import', 'export', 'stats', 'reading', 'monitoring', 'reasons'],
  // What became of the applicants, and how good the scores were.
  ['outcomes'],
  ['performance'],
  // What is computed again from scores that were read back, where old ones go, and files that are
  // scored.
  ['replay', 'proof', 'backtest', 'archive', 'batches'],
  ['evidence', 'change-requests'],
  // What scans the log for a person who waits.
  ['reports'],
  // The console, and the documentation of the routes.
  ['console', 'openapi'],
  // Configuration and wiring.
  ['config.ts', 'telemetry.ts', 'service-metrics.ts'],
  ['services.ts'],
  ['app.ts'],
  // Processes.
  ['server.ts'],
  ['cli', 'demo'],
]
