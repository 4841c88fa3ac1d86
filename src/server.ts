import cluster from 'node:cluster'
import { randomBytes } from 'node:crypto'
import { resolve } from 'node:path'
import { buildApp } from './app.ts'
import { type Config, ConfigError, loadConfig } from './config.ts'
import { DataDirInUseError, lentDataDir, openDataDir } from './data-dir.ts'
import { DatabaseOpenError } from './db/errors.ts'
import { createLog } from './log.ts'
import { SpoolOpenError } from './scorelog/spool.ts'
import { createServices, type Services } from './services.ts'
import { PrimaryLink } from './workers/link.ts'
import { Primary } from './workers/primary.ts'
import { WorkerStartError } from './workers/supervisor.ts'

/** Longest time from the signal to the end of the process, whatever does not answer. */
const EXIT_DEADLINE_MS = 9_500
/** Of the process that waits for its workers, which it kills before that. */
const PRIMARY_EXIT_DEADLINE_MS = 9_950
const EMBEDDED_OWNER_EMAIL = 'owner@scoreline.local'

/** A service that answers, and how to end it. */
export interface RunningServer {
  readonly url: string
  close(): Promise<void>
}

interface ServerOptions {
  /** Prints a line for the person who starts it. */
  readonly announce: (line: string) => void
  /** Told when the service can't go on. */
  readonly onCrash: (error: Error) => void
  /** Of a worker, which works in its primary's data directory and leaves it to say where all answer. */
  readonly link?: PrimaryLink
}

/** Starts the service in this process and returns once it answers. */
export async function startServer(
  config: Config,
  { announce, onCrash, link }: ServerOptions,
): Promise<RunningServer> {
  const services = await createServices(config, {
    ...{ log: createLog(config.logLevel), onCrash },
    ...(link && { dataDir: lentDataDir(config.dataDir) }),
  })
  try {
    const app = await buildApp(services, config)
    await bootstrap(services, config, announce)
    const url = await app.listen({ host: config.host, port: config.port })
    const { operations } = services
    operations.start()
    if (link === undefined) announce(`Scoreline answers at ${url} (${databaseOf(config)})`)
    else {
      operations.metrics.source = link.share(operations.metrics)
      link.ready(url)
    }
    return {
      url,
      close: async () => {
        await app.closeGently()
        await services.close()
        link?.close()
      },
    }
  } catch (error) {
    await services.close()
    throw error
  }
}

function databaseOf({ databaseUrl, dataDir }: Config): string {
  return databaseUrl === null ? `embedded database in ${resolve(dataDir)}` : 'PostgreSQL'
}

async function bootstrap(
  { auth }: Services,
  { bootstrapOwner, databaseUrl }: Config,
  announce: (line: string) => void,
): Promise<void> {
  if (bootstrapOwner !== null) {
    const { email, password } = bootstrapOwner
    if (await auth.bootstrapOwner(email, password)) announce(`Created the owner ${email}.`)
  } else if (databaseUrl === null && !(await auth.hasUsers())) {
    // Printed before it counts: an owner whose password nobody saw could never sign in.
    const password = randomBytes(18).toString('base64url')
    announce('Creating the first owner. The password is shown only this once:')
    announce(`  email     ${EMBEDDED_OWNER_EMAIL}`)
    announce(`  password  ${password}`)
    await auth.bootstrapOwner(EMBEDDED_OWNER_EMAIL, password)
  }
}

/** What to print when the start fails: a sentence for an operator's mistake, else where it failed. */
export function startFailureText(error: unknown): string {
  const { code, port, address } = error as { code?: string; port?: number; address?: string }
  if (code === 'EADDRINUSE')
    return `port ${port} on ${address} is taken: set PORT to another one, or 0`
  if (code === 'EADDRNOTAVAIL' || code === 'EACCES' || code === 'ENOTFOUND') {
    return `HOST and PORT can't be listened on (${code})`
  }
  if (!(error instanceof Error)) return 'the start failed'
  const isExplained =
    error instanceof ConfigError ||
    error instanceof DataDirInUseError ||
    error instanceof DatabaseOpenError ||
    error instanceof SpoolOpenError ||
    error instanceof WorkerStartError
  return isExplained ? error.message : chainOf(error).map(placeOfFailure).join('\ncaused by ')
}

function chainOf(error: unknown): Error[] {
  return error instanceof Error ? [error, ...chainOf(error.cause)] : []
}

/** The text of a failed statement holds its parameters, among them the hash of a password. */
function placeOfFailure(error: Error): string {
  return 'params' in error ? 'a failed statement' : (error.stack ?? error.message)
}

/** What `main` has started. */
interface Started {
  /** @returns the exit code */
  end(signal: NodeJS.Signals): Promise<number>
}

async function startAlone(config: Config, link?: PrimaryLink): Promise<Started> {
  const server = await startServer(config, {
    announce: console.log,
    onCrash: (error) => {
      console.error(`the embedded database died: ${error.message}`)
      process.exit(1)
    },
    ...(link && { link }),
  })
  return {
    end: async () => {
      await server.close()
      return 0
    },
  }
}

async function startWorkers(config: Config, started: (all: Started) => void): Promise<void> {
  const dataDir = await openDataDir(config.dataDir)
  const primary = new Primary({ ...config, log: createLog(config.logLevel) })
  const end = async (signal: NodeJS.Signals) => {
    const exitCode = await primary.supervisor.end(signal)
    dataDir.close()
    return exitCode
  }
  // A signal may come while they start.
  started({ end })
  try {
    await primary.start()
  } catch (error) {
    await end('SIGTERM')
    throw error
  }
  console.log(
    `Scoreline answers at ${primary.url} (${databaseOf(config)}, ${config.workers} workers)`,
  )
}

async function main(): Promise<void> {
  let started: Started | undefined
  let isEnding = false
  const exit = async (signal: NodeJS.Signals, deadlineMs: number) => {
    if (isEnding) return
    isEnding = true
    setTimeout(() => process.exit(1), deadlineMs).unref()
    try {
      process.exit((await started?.end(signal)) ?? 0)
    } catch (error) {
      console.error(startFailureText(error))
      process.exit(1)
    }
  }
  try {
    const config = loadConfig(process.env)
    const isPrimary = cluster.isPrimary && config.workers > 1
    const deadlineMs = isPrimary ? PRIMARY_EXIT_DEADLINE_MS : EXIT_DEADLINE_MS
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => void exit(signal, deadlineMs))
    }
    const { worker } = cluster
    if (isPrimary) {
      await startWorkers(config, (all) => {
        started = all
      })
    } else if (worker === undefined) {
      started = await startAlone(config)
    } else {
      // The primary is gone: as if it had passed a signal on, in the place of Node's ending it amid answers.
      worker.once('disconnect', () => {
        worker.exitedAfterDisconnect = true
        void exit('SIGTERM', deadlineMs)
      })
      const link = new PrimaryLink(process)
      link.open()
      started = await startAlone(config, link)
    }
  } catch (error) {
    console.error(startFailureText(error))
    process.exit(1)
  }
}

if (import.meta.main) await main()
