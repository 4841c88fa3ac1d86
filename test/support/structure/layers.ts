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
  // The parts that all routes share.
  ['http'],
  // Callers and their rights, the record of each change, and the quota.
  ['identity', 'rate-limit'],
  // Models and deployments, and the log of all scores.
  ['registry', 'log'],
  // Scores, and the outcomes of the applicants.
  ['scoring', 'outcomes'],
  // Work in the background, and what is computed from the log.
  ['jobs'],
  ['reports'],
  // Cards of other tools, and the console.
  ['cards', 'console'],
  // Configuration and wiring.
  ['config.ts', 'telemetry'],
  ['services.ts'],
  ['app.ts'],
  // Processes.
  ['server.ts'],
  ['cli'],
]
