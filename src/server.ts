import cluster, { type Worker } from 'node:cluster'
import { randomBytes } from 'node:crypto'
import { flushCompileCache } from 'node:module'
import { resolve } from 'node:path'
import { buildApp } from './app.ts'
import { type Config, ConfigError, loadConfig } from './config.ts'
import { openPatiently } from './http/waiting.ts'
import { isGuessable } from './identity/teams/guessable.ts'
import { SpoolOpenError } from './log/wiring.ts'
import { READY_AFTER_MS } from './platform/caches/warm-up.ts'
import type { Clock } from './platform/clock.ts'
import {
  DataDirError,
  DataDirInUseError,
  lentDataDir,
  openDataDir,
} from './platform/data-dir/data-dir.ts'
import { DatabaseOpenError } from './platform/db/errors.ts'
import { openDatabase } from './platform/db/open.ts'
import { causeChain, firstFailure } from './platform/error-facts.ts'
import { exitProcess } from './platform/exit.ts'
import { requireFreePort } from './platform/free-port.ts'
import { createLog, type LogStream, openLines } from './platform/log.ts'
import { collectStartGarbage } from './platform/start-garbage.ts'
import { LaterVersionError, VERSION } from './platform/version.ts'
import { PrimaryChannel } from './platform/workers/channel.ts'
import { Primary } from './platform/workers/primary.ts'
import { WorkerStartError } from './platform/workers/supervisor.ts'
import { createServices, type Services } from './services.ts'

/**
 * Longest time from the signal to the exit of a process that serves, even if a part does not
 * respond.
 */
const EXIT_DEADLINE_MS = 9_500
/** The same for the primary, which waits for its workers and kills them before that. */
const PRIMARY_EXIT_DEADLINE_MS = 9_950
const EMBEDDED_OWNER_EMAIL = 'owner@scoreline.local'

export interface RunningServer {
  readonly url: string
  close(): Promise<void>
}

interface ServerOptions {
  /** Prints a line for the person who starts the service, not to the stream of the log. */
  readonly announce: (line: string) => void
  /** Target of the log; standard output when left out. */
  readonly logStream?: LogStream
  /** Called when the service can't continue. */
  readonly onCrash: (error: Error) => void
  /**
   * Given in a worker. A worker shares the data directory of its primary, and the primary prints
   * the URL of all workers.
   */
  readonly channel?: PrimaryChannel
  /** Replaces the clock of the system. */
  readonly clock?: Clock
  /** See `ServiceOptions`. */
  readonly logFromMs?: number
  /** Does what comes before the service accepts requests. */
  readonly prepare?: (services: Services) => Promise<void>
  /** Does what comes last, when everything is loaded and no request can wait for it. */
  readonly beforeListening?: () => Promise<void>
}

/** Starts the service in this process and returns once it accepts requests. */
export async function startServer(
  config: Config,
  { announce, onCrash, channel, logStream, prepare, beforeListening, ...replaced }: ServerOptions,
): Promise<RunningServer> {
  // A start that fails must not have made an owner and printed a password. The primary has checked
  // the port of its workers.
  if (channel === undefined) await requireFreePort(config.host, config.port)
  const log = createLog(config.logLevel, logStream)
  const services = await createServices(config, {
    log,
    onCrash,
    openDatabase: (options) =>
      openPatiently(() => openDatabase(options), reasonToWait, { ...config, log }),
    ...(config.streamsAudit && { auditLines: openLines() }),
    ...replaced,
    ...(channel && { dataDir: lentDataDir(config.dataDir) }),
    isEarly: prepare === undefined,
  })
  try {
    await prepare?.(services)
    const app = await buildApp(services, config)
    // No probe asks a worker by itself: it gets requests once it listens.
    const warmMs = channel === undefined ? undefined : READY_AFTER_MS
    await Promise.all([services.ready, services.warmUp.within(warmMs)])
    await bootstrap(services, config, announce)
    // Now, because an exit must not wait for a disk. Nearly all modules are loaded.
    flushCompileCache()
    await beforeListening?.()
    const url = await app.listen({ host: config.host, port: config.port })
    const { telemetry } = services
    telemetry.start()
    if (channel === undefined) announce(startText(config, url, formatDatabase(config)))
    else {
      telemetry.metrics.source = channel.share(telemetry.metrics)
      channel.ready(url)
    }
    return {
      url,
      close: async () => {
        await app.closeGently()
        await services.close()
        channel?.close()
      },
    }
  } catch (error) {
    await services.close()
    throw error
  }
}

function reasonToWait(error: unknown): string | null {
  return error instanceof DatabaseOpenError && error.isPassing ? error.message : null
}

/** Names the URL of the service and the pages that a person opens first. */
function startText({ publicUrl }: Config, url: string, details: string): string {
  const pages = publicUrl ?? url
  return [
    `Scoreline answers at ${url} (version ${VERSION}, ${details})`,
    `  Console        ${pages}/console`,
    `  Documentation  ${pages}/docs`,
  ].join('\n')
}

function formatDatabase({ databaseUrl, dataDir }: Config): string {
  return databaseUrl === null ? `embedded database in ${resolve(dataDir)}` : 'PostgreSQL'
}

async function bootstrap(
  { auth, signOn }: Services,
  { bootstrapOwner, databaseUrl }: Config,
  announce: (line: string) => void,
): Promise<void> {
  if (bootstrapOwner !== null) {
    const { email, password } = bootstrapOwner
    if (await auth.bootstrapOwner(email, password)) {
      announce(`Created the owner ${email}.`)
      if (isGuessable(password, email)) {
        announce('Warning: BOOTSTRAP_OWNER_PASSWORD is easy to guess. Sign in and change it.')
      }
    }
  } else if (databaseUrl === null && !(await auth.hasUsers())) {
    // Print first: an owner whose password nobody saw could never sign in.
    const password = randomBytes(18).toString('base64url')
    announce('Creating the first owner. The password is shown only this once:')
    announce(`  email     ${EMBEDDED_OWNER_EMAIL}`)
    announce(`  password  ${password}`)
    await auth.bootstrapOwner(EMBEDDED_OWNER_EMAIL, password)
  }
  const fault = await signOn.breakGlassFault()
  if (fault !== null) announce(`Warning: ${fault}.`)
}

/**
 * Returns what to print when the start fails: a sentence for a mistake of the operator, otherwise
 * the stack.
 */
export function startFailureText(thrown: unknown): string {
  const error = firstFailure(thrown)
  const { code, port, address } = error as { code?: string; port?: number; address?: string }
  if (code === 'EADDRINUSE')
    return `port ${port} on ${address} is taken: set PORT to another one, or 0`
  if (code === 'EADDRNOTAVAIL' || code === 'EACCES' || code === 'ENOTFOUND') {
    return `the service can't listen on HOST and PORT (${code}): check both`
  }
  if (!(error instanceof Error)) return 'the start failed'
  const isExplained =
    error instanceof ConfigError ||
    error instanceof DataDirInUseError ||
    error instanceof DataDirError ||
    error instanceof DatabaseOpenError ||
    error instanceof LaterVersionError ||
    error instanceof SpoolOpenError ||
    error instanceof WorkerStartError
  return isExplained ? error.message : causeChain(error).map(readStack).join('\ncaused by ')
}

/** The text of a failed statement holds its parameters, among them the hash of a password. */
function readStack(error: Error): string {
  return 'params' in error ? 'a failed statement' : (error.stack ?? error.message)
}

/** Ends what runs in this process and returns the exit code. */
type End = (signal: NodeJS.Signals) => Promise<number>

/**
 * Ends the process on a signal.
 *
 * States: running; ending, from the first signal on, when further signals do nothing; exited, with
 * the code of what ran, or with 1 if that fails or takes longer than the deadline.
 */
class ProcessEnd {
  /** Until something runs, a signal exits at once, with 0. */
  private end: End = async () => 0
  private isEnding = false
  private readonly deadlineMs: number

  constructor(deadlineMs: number) {
    this.deadlineMs = deadlineMs
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => void this.begin(signal))
    }
  }

  /** From now on a signal calls `end`. */
  callOnSignal(end: End): void {
    this.end = end
  }

  async begin(signal: NodeJS.Signals): Promise<void> {
    if (this.isEnding) return
    this.isEnding = true
    setTimeout(() => void exitProcess(1, sayStuck), this.deadlineMs).unref()
    try {
      await exitProcess(await this.end(signal), sayStuck)
    } catch (error) {
      console.error(startFailureText(error))
      await exitProcess(1, sayStuck)
    }
  }
}

function sayStuck(): void {
  console.error('A disk or a name server does not answer: the process ends without it.')
}

function exitWithFailure(error: unknown): never {
  console.error(startFailureText(error))
  process.exit(1)
}

/** The only process: it serves. */
async function runAlone(config: Config): Promise<void> {
  const processEnd = new ProcessEnd(EXIT_DEADLINE_MS)
  processEnd.callOnSignal(await startAndAnnounce(config))
}

/** One of several processes that serve on the same port, started by the primary. */
async function runWorker(config: Config, worker: Worker): Promise<void> {
  const processEnd = new ProcessEnd(EXIT_DEADLINE_MS)
  // The primary is gone. By default Node would exit in the middle of responses; a signal ends them
  // first.
  worker.once('disconnect', () => {
    worker.exitedAfterDisconnect = true
    void processEnd.begin('SIGTERM')
  })
  const channel = new PrimaryChannel(process)
  channel.open()
  processEnd.callOnSignal(await startAndAnnounce(config, channel))
}

/** The process that starts the workers and replaces those that die; it serves nothing itself. */
async function runPrimary(config: Config): Promise<void> {
  const processEnd = new ProcessEnd(PRIMARY_EXIT_DEADLINE_MS)
  const dataDir = await openDataDir(config.dataDir, config.acceptLaterVersion)
  const primary = new Primary({ ...config, log: createLog(config.logLevel) })
  const end: End = async (signal) => {
    const exitCode = await primary.supervisor.end(signal)
    dataDir.close()
    return exitCode
  }
  // Before the workers start: a signal may arrive meanwhile.
  processEnd.callOnSignal(end)
  try {
    await requireFreePort(config.host, config.port)
    await primary.start()
  } catch (error) {
    await end('SIGTERM')
    throw error
  }
  const details = `${formatDatabase(config)}, ${config.workers} workers`
  console.error(startText(config, primary.url, details))
  await collectStartGarbage()
}

async function startAndAnnounce(config: Config, channel?: PrimaryChannel): Promise<End> {
  const server = await startServer(config, {
    // Standard output belongs to the log: one line that is not JSON breaks a collector.
    announce: console.error,
    onCrash: (error) => {
      console.error(`the embedded database died: ${error.message}`)
      process.exit(1)
    },
    beforeListening: collectStartGarbage,
    ...(channel && { channel }),
  })
  return async () => {
    await server.close()
    return 0
  }
}

/**
 * Runs the service in this process, alone, as the primary or as a worker, until a signal ends it.
 */
export async function serve(): Promise<void> {
  try {
    const config = loadConfig(process.env)
    const { worker } = cluster
    if (worker === undefined) for (const warning of config.misspelt) console.error(warning)
    if (worker !== undefined) await runWorker(config, worker)
    else if (config.workers > 1) await runPrimary(config)
    else await runAlone(config)
  } catch (error) {
    exitWithFailure(error)
  }
}

if (import.meta.main) await serve()
