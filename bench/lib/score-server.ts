/**
 * Runs the service in a separate process, so that another process can measure it. `fork` it with
 * its settings in the environment; it reports its URL. `QUOTA_OFF` turns off the counting of
 * requests, `SCORE_LOG_OFF` the score log. With `SCORE_WAY=node` Node's server reads all requests,
 * with `SCORE_WAY=fastify` the fast path sees none. The service has no setting for any of them.
 * `SCORE_WORKERS` is the number of processes that answer on one port.
 */
import cluster from 'node:cluster'
import { Server } from 'node:http'
import type { Socket } from 'node:net'
import { buildApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config.ts'
import { createLog } from '../../src/platform/log.ts'
import { createServices } from '../../src/services.ts'
import { DiscardingScoreLog } from './discarding-score-log.ts'
import { serveState, serveStates } from './server-state.ts'
import { UnlimitedLimiter } from './unlimited-limiter.ts'

const workers = Number(process.env['SCORE_WORKERS'] ?? 1)
if (workers > 1 && cluster.isPrimary) {
  const dataDir = process.env['DATA_DIR']
  const forked = Array.from({ length: workers }, (_, n) =>
    cluster.fork({ DATA_DIR: `${dataDir}-${n}` }),
  )
  await serveStates(forked)
} else await serve()

async function serve(): Promise<void> {
  const config = loadConfig(process.env)
  const isLogOff = process.env['SCORE_LOG_OFF'] !== undefined
  const services = await createServices(config, {
    log: createLog(config.logLevel),
    ...(isLogOff && { scoreLog: new DiscardingScoreLog() }),
    onCrash: (error) => {
      throw error
    },
  })
  const isOff = process.env['QUOTA_OFF'] !== undefined
  const way = process.env['SCORE_WAY']
  const limiter = isOff ? new UnlimitedLimiter() : services.limiter
  const app = await buildApp({ ...services, limiter }, config)
  if (way === 'node' || way === 'fastify') leaveToNode(app.server)
  if (way === 'fastify') {
    app.server.removeAllListeners('request')
    app.server.on('request', (request, response) => app.routing(request, response))
  }
  if (config.bootstrapOwner !== null) {
    await services.auth.bootstrapOwner(config.bootstrapOwner.email, config.bootstrapOwner.password)
  }
  const url = await app.listen({ host: config.host, port: 0 })
  services.telemetry.start()
  serveState(url, () => ({
    decidedDegraded: services.limiter.counters.decidedDegraded,
    spooledRecords: services.spool.stats.records,
  }))
}

/** Gives a server back what Node itself does with a connection. */
function leaveToNode(server: Server): void {
  server.removeAllListeners('connection')
  for (const listener of new Server().listeners('connection')) {
    server.on('connection', listener as (socket: Socket) => void)
  }
}
