/**
 * The service in a process of its own, to be measured from another: `fork` it, with its settings in the
 * environment, and it tells where it answers. With `SCORE_LOG_OFF` nothing is logged, which no setting of
 * the service can do.
 */
import { buildApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config.ts'
import { createLog } from '../../src/log.ts'
import { NO_SCORE_LOG } from '../../src/scorelog/score-log.ts'
import { createServices } from '../../src/services.ts'

/** What the process says of itself when it is asked, by any message. */
export interface ServerState {
  readonly url: string
  /** Processor time so far. */
  readonly cpuMs: number
  readonly rssBytes: number
  /** Records that the database does not have yet. */
  readonly spooledRecords: number
}

const config = loadConfig(process.env)
const isLogOff = process.env['SCORE_LOG_OFF'] !== undefined
const services = await createServices(config, {
  log: createLog(config.logLevel),
  ...(isLogOff && { scoreLog: NO_SCORE_LOG }),
  onCrash: (error) => {
    throw error
  },
})
const app = await buildApp(services, config)
if (config.bootstrapOwner !== null) {
  await services.auth.bootstrapOwner(config.bootstrapOwner.email, config.bootstrapOwner.password)
}
const url = await app.listen({ host: config.host, port: 0 })

function state(): ServerState {
  const { user, system } = process.cpuUsage()
  return {
    url,
    cpuMs: (user + system) / 1000,
    rssBytes: process.memoryUsage.rss(),
    spooledRecords: services.spool.stats.records,
  }
}

process.on('message', () => process.send?.(state()))
process.on('disconnect', () => process.exit(0))
process.send?.(state())
