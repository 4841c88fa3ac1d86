import { randomBytes } from 'node:crypto'
import { resolve } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { buildApp } from './app.ts'
import { type Config, loadConfig } from './config.ts'
import { createServices, type Services } from './services.ts'

/** Requests in flight may take this long to end; what then remains is cut off. */
const CLOSE_GRACE_MS = 8_000
const IDLE_SWEEP_MS = 50
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
  const services = await createServices(config, { onCrash })
  try {
    const app = await buildApp(services, config)
    await bootstrap(services, config, announce)
    const url = await app.listen({ host: config.host, port: config.port })
    const store =
      config.databaseUrl === null ? `embedded database in ${resolve(config.dataDir)}` : 'PostgreSQL'
    announce(`Scoreline answers at ${url} (${store})`)
    return { url, close: () => closeServer(app, services) }
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
  } else if (databaseUrl === null) {
    const password = randomBytes(18).toString('base64url')
    if (await auth.bootstrapOwner(EMBEDDED_OWNER_EMAIL, password)) {
      announce('Created the first owner. The password is shown only this once:')
      announce(`  email     ${EMBEDDED_OWNER_EMAIL}`)
      announce(`  password  ${password}`)
    }
  }
}

/** Stops accepting, lets requests in flight end, then closes the stores. */
async function closeServer(app: FastifyInstance, services: Services): Promise<void> {
  const cutOff = setTimeout(() => app.server.closeAllConnections(), CLOSE_GRACE_MS)
  // Closing hangs up only on who is idle at that moment; the others are idle once they are answered.
  const sweep = setInterval(() => app.server.closeIdleConnections(), IDLE_SWEEP_MS)
  await app.close()
  clearInterval(sweep)
  clearTimeout(cutOff)
  await services.close()
}

/** What to print when the start fails: one line for the failure and for each of its causes. */
export function startFailureText(error: unknown): string {
  const lines: string[] = []
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    // The message of a failed statement holds its parameters; its cause says why it failed.
    const isStatement = 'query' in cause && cause.cause !== undefined
    if (!isStatement) lines.push(startFailureLine(cause))
  }
  return lines.length === 0 ? 'the start failed' : lines.join('\n')
}

function startFailureLine(
  error: Error & { code?: string; address?: string; port?: number },
): string {
  const { code, address, port, message } = error
  if (code === 'EADDRINUSE')
    return `port ${port} on ${address} is taken: set PORT to another one, or 0`
  return message === '' ? `${code ?? error.name}` : message
}

async function main(): Promise<void> {
  let server: RunningServer | undefined
  let isEnding = false
  const end = async (status: number) => {
    if (isEnding) return
    isEnding = true
    try {
      await server?.close()
    } catch (error) {
      console.error(startFailureText(error))
      process.exit(1)
    }
    process.exit(status)
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void end(0))
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
