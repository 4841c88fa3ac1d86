import { buildApp } from '../../../src/app.ts'
import { loadConfig } from '../../../src/config.ts'
import { threadClock } from '../../../src/platform/event-loop.ts'
import { createLog } from '../../../src/platform/log.ts'
import { createServices } from '../../../src/services.ts'

/**
 * The service as a process, where each single score takes so many milliseconds of processor time:
 * what overloads it is then the same on every machine, and small enough for whoever sends it.
 */
const WORK_MS = Number(process.argv[2])

const config = loadConfig(process.env)
const services = await createServices(config, {
  log: createLog(config.logLevel),
  onCrash: () => process.exit(1),
})
const { scoring, auth, telemetry: operations } = services
const score = scoring.score.bind(scoring)
scoring.score = (caller, request, answered) => {
  const endsAtMs = threadClock.threadCpuMs() + WORK_MS
  while (threadClock.threadCpuMs() < endsAtMs);
  score(caller, request, answered)
}
const app = await buildApp(services, config)
if (config.bootstrapOwner !== null) {
  await auth.bootstrapOwner(config.bootstrapOwner.email, config.bootstrapOwner.password)
}
const url = await app.listen({ port: config.port, host: config.host })
operations.start()
process.stdout.write(`answers at ${url}\n`)
