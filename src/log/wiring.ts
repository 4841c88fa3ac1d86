/* The door of the log for what makes the service of its parts. */

export { openArchive } from './archive/open.ts'
export { openScoreLog } from './open.ts'
export { proofRoutes } from './proof/routes.ts'
export { logErasureRoutes } from './reading/erasure/routes.ts'
export { logExportRoutes } from './reading/export/routes.ts'
export { openReading } from './reading/open.ts'
export { openLogReader } from './reading/open-reader.ts'
export { readingRoutes } from './reading/routes.ts'
export { WaitingScores } from './reading/spool-tail.ts'
export { ScoreKeyStore } from './score-keys/store.ts'
export { SpoolOpenError } from './spool/spool.ts'
