import { randomBytes } from 'node:crypto'
import { resolve } from 'node:path'
import { buildApp } from './app.ts'
import { type Config, ConfigError, loadConfig } from './config.ts'
import { DataDirInUseError } from './data-dir.ts'
import { DatabaseOpenError } from './db/errors.ts'
import { createLog } from './log.ts'
import { SpoolOpenError } from './scorelog/spool.ts'
import { createServices, type Services } from './services.ts'

/** Longest time from the signal to the end of the process, whatever does not answer. */
const EXIT_DEADLINE_MS = 9_500
const EMBEDDED_OWNER_EMAIL = 'owner@scoreline.local'

/** A service that answers, and how to end it. */
export interface RunningServer {
  readonly url: string
  close(): Promise<void>
}

/**
 * Starts the service and returns once it answers.
 *
 * @param announce prints a line for the person who starts it
 * @param onCrash told when the service can't go on
 */
export async function startServer(
  config: Config,
  announce: (line: string) => void,
  onCrash: (error: Error) => void,
): Promise<RunningServer> {
  const services = await createServices(config, { log: createLog(config.logLevel), onCrash })
  try {
    const app = await buildApp(services, config)
    await bootstrap(services, config, announce)
    const url = await app.listen({ host: config.host, port: config.port })
    services.operations.start()
    const embedded = `embedded database in ${resolve(config.dataDir)}`
    announce(
      `Scoreline answers at ${url} (${config.databaseUrl === null ? embedded : 'PostgreSQL'})`,
    )
    return {
      url,
      close: async () => {
        await app.closeGently()
        await services.close()
      },
    }
  } catch (error) {
    await services.close()
    throw error
  }
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
    error instanceof SpoolOpenError
  return isExplained ? error.message : chainOf(error).map(placeOfFailure).join('\ncaused by ')
}

function chainOf(error: unknown): Error[] {
  return error instanceof Error ? [error, ...chainOf(error.cause)] : []
}

/** The text of a failed statement holds its parameters, among them the hash of a password. */
function placeOfFailure(error: Error): string {
  return 'params' in error ? 'a failed statement' : (error.stack ?? error.message)
}

async function main(): Promise<void> {
  let server: RunningServer | undefined
  let isEnding = false
  const end = async () => {
    if (isEnding) return
    isEnding = true
    setTimeout(() => process.exit(1), EXIT_DEADLINE_MS).unref()
    try {
      await server?.close()
      process.exit(0)
    } catch (error) {
      console.error(startFailureText(error))
      process.exit(1)
    }
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void end())
  try {
    server = await startServer(loadConfig(process.env), console.log, (error) => {
      console.error(`the embedded database died: ${error.message}`)
      process.exit(1)
    })
  } catch (error) {
    console.error(startFailureText(error))
    process.exit(1)
  }
}

if (import.meta.main) await main()
