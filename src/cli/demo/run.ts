import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadConfig } from '../../config.ts'
import { AppError } from '../../errors.ts'
import { firstFailure } from '../../platform/error-facts.ts'
import { type RunningServer, startFailureText, startServer } from '../../server.ts'
import type { Services } from '../../services.ts'
import { DemoClient } from './client.ts'
import { readExplainedSample } from './explained-card.ts'
import { HistoryClock } from './history/clock.ts'
import { COLLEAGUES, type DemoPerson } from './history/colleagues.ts'
import { historyStartMs, type MadeHistory, makeHistory } from './history/make-history.ts'
import {
  printBatch,
  printCurlLines,
  printHistory,
  printMembers,
  printReasons,
  printScore,
  printWhole,
} from './print.ts'

const OWNER = {
  email: 'owner@demo.example',
  role: 'owner',
  may: 'does everything',
} as const satisfies DemoPerson
const BATCH_SIZE = 5
/** The lowest score of grade C; below it, the demo's lender declines. */
const CUTOFF = 420

/**
 * Starts the service on an embedded database in `dataDir`.
 *
 * @returns with the history for the console; null if the demo ends before a person can look at it
 */
async function startDemoServer(dataDir: string, password: string, isOnce: boolean) {
  const settings = {
    HOST: process.env['HOST'],
    DATA_DIR: dataDir,
    BOOTSTRAP_OWNER_EMAIL: OWNER.email,
    BOOTSTRAP_OWNER_PASSWORD: password,
    LOG_LEVEL: process.env['LOG_LEVEL'] ?? 'warn',
  }
  let history: MadeHistory | null = null
  const clock = new HistoryClock()
  const owner = { email: OWNER.email, password }
  const made = {
    clock,
    logFromMs: historyStartMs(clock.epochMs()),
    prepare: async (services: Services) => {
      // A second start, on another port, finds what the first one has made.
      history ??= await makeHistory({ services, clock, owner, ...readExplainedSample() })
      // Nobody waits for it: the first page has its verdicts some seconds later.
      services.overviewMaker.periodic.wake()
    },
  }
  const start = (port: string | undefined) =>
    startServer(loadConfig({ ...settings, PORT: port }), {
      ...(isOnce ? {} : made),
      announce: () => {},
      // Standard output is for the person who runs the demo, without log lines in between.
      logStream: 'stderr',
      onCrash: (error) => {
        console.error(`the embedded database died: ${error.message}`)
        process.exit(1)
      },
    })
  try {
    const server = await start(isOnce ? '0' : process.env['PORT'])
    return { server, history: history as MadeHistory | null }
  } catch (error) {
    // Another program uses the usual port. Any other port will do for a demo.
    if ((error as { code?: string }).code !== 'EADDRINUSE') throw error
    return { server: await start('0'), history: history as MadeHistory | null }
  }
}

/** Deploys the sample scorecard, creates a key, scores, and prints the results. */
async function show(url: string, password: string, history: MadeHistory | null): Promise<void> {
  const { spec, sample: applicants } = readExplainedSample()
  const [first] = applicants
  if (first === undefined) throw new Error('the sample has no applicants')
  const client = await DemoClient.signIn(url, OWNER.email, password)
  const { endpoint } = await client.deploy(spec)
  const keySecret = await client.createKey()

  console.log(`\nScorecard "${spec.name}" ${spec.version} is deployed:\n  ${endpoint}\n`)
  printScore(first, spec.base_points, await client.score(endpoint, keySecret, first.applicant))
  const declined = applicants.find(({ score }) => score < CUTOFF)
  if (declined !== undefined) {
    const { id, applicant } = declined
    const inLanguage = (lang: string) =>
      client.scoreWithReasons(endpoint, keySecret, { applicant, lang })
    printReasons(id, await inLanguage('en'), await inLanguage('de'))
  }
  const batch = applicants.slice(0, BATCH_SIZE)
  printBatch(await client.scoreBatch(endpoint, keySecret, batch))
  const startedMs = performance.now()
  const whole = await client.scoreBatch(endpoint, keySecret, applicants)
  printWhole(applicants, whole, performance.now() - startedMs)
  printCurlLines(endpoint, keySecret, first, batch.slice(0, 2))
  if (history !== null) printHistory(url, history)
  printMembers(history === null ? [OWNER] : [OWNER, ...Object.values(COLLEAGUES)], password)
  console.log(`  Console        ${url}/console`)
  console.log(`  Documentation  ${url}/docs (the REST interface)\n`)
}

/**
 * Runs the demo until a signal ends it.
 *
 * @param isOnce whether it ends after the scores are printed
 */
export async function runDemo({ isOnce }: { readonly isOnce: boolean }): Promise<void> {
  try {
    await demonstrate(isOnce)
  } catch (error) {
    console.error(demoFailureText(error))
    process.exit(1)
  }
}

/** Says why the demo ended, and what to do where it is known. */
export function demoFailureText(thrown: unknown): string {
  const error = firstFailure(thrown)
  if (!(error instanceof AppError) || error.code !== 'unavailable') return startFailureText(thrown)
  const advice = 'Perhaps this computer is too busy: end other programs, then run the demo again.'
  return `The demo ended: ${error.message}. ${advice}`
}

async function demonstrate(isOnce: boolean): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'scoreline-demo-'))
  process.on('exit', () => rmSync(dataDir, { recursive: true, force: true }))
  let server: RunningServer | undefined
  const end = async () => {
    await server?.close()
    process.exit(0)
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void end())

  console.log('Starting Scoreline on an embedded database (the first start takes some seconds) …')
  const password = randomBytes(12).toString('base64url')
  const started = await startDemoServer(dataDir, password, isOnce)
  server = started.server
  await show(server.url, password, started.history)
  if (isOnce) await end()
  console.log(`Scoreline answers at ${server.url} until you press Ctrl-C.`)
}
