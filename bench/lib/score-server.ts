/**
 * The service in a process of its own, to be measured from another: `fork` it, with its settings in the
 * environment, and it tells where it answers. With `QUOTA_OFF` nothing counts requests, with
 * `SCORE_LOG_OFF` nothing is logged, which no setting of the service can do.
 */
import { buildApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config.ts'
import { createLog } from '../../src/log.ts'
import { NO_SCORE_LOG } from '../../src/scorelog/score-log.ts'
import { createServices } from '../../src/services.ts'
import { serveState } from './server-state.ts'

const config = loadConfig(process.env)
const isLogOff = process.env['SCORE_LOG_OFF'] !== undefined
const services = await createServices(config, {
  log: createLog(config.logLevel),
  ...(isLogOff && { scoreLog: NO_SCORE_LOG }),
  onCrash: (error) => {
    throw error
  },
})
const isOff = process.env['QUOTA_OFF'] !== undefined
const app = await buildApp({ ...services, ...(isOff && { limiter: null }) }, config)
if (config.bootstrapOwner !== null) {
  await services.auth.bootstrapOwner(config.bootstrapOwner.email, config.bootstrapOwner.password)
}
const url = await app.listen({ host: config.host, port: 0 })
services.operations.start()
serveState(url, () => ({
  decidedDegraded: services.limiter?.counters.decidedDegraded ?? 0,
  spooledRecords: services.spool.stats.records,
}))
