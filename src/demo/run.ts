import { randomBytes } from 'node:crypto'
import { readFileSync, rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadConfig } from '../config.ts'
import { type RunningServer, startFailureText, startServer } from '../server.ts'
import { DemoClient } from './client.ts'
import {
  explainedCard,
  printReasons,
  type SampleCard,
  type SampleReasons,
} from './explained-card.ts'
import { type DemoApplicant, printBatch, printCurlLines, printScore, printWhole } from './print.ts'

const OWNER_EMAIL = 'owner@demo.example'
const BATCH_SIZE = 5
/** The lowest score of grade C; below it, the demo's lender declines. */
const CUTOFF = 420
const SAMPLE = new URL('./german-credit/', import.meta.url)

/** Starts the service on an embedded database in `dataDir`. */
async function startDemoServer(dataDir: string, password: string, isOnce: boolean) {
  const settings = {
    HOST: process.env['HOST'],
    DATA_DIR: dataDir,
    BOOTSTRAP_OWNER_EMAIL: OWNER_EMAIL,
    BOOTSTRAP_OWNER_PASSWORD: password,
    LOG_LEVEL: process.env['LOG_LEVEL'] ?? 'warn',
  }
  const start = (port: string | undefined) =>
    startServer(loadConfig({ ...settings, PORT: port }), {
      announce: () => {},
      // Standard output is for the person who runs the demo, without log lines in between.
      logStream: 'stderr',
      onCrash: (error) => {
        console.error(`the embedded database died: ${error.message}`)
        process.exit(1)
      },
    })
  if (isOnce) return start('0')
  try {
    return await start(process.env['PORT'])
  } catch (error) {
    // Another program uses the usual port. Any other port will do for a demo.
    if ((error as { code?: string }).code === 'EADDRINUSE') return start('0')
    throw error
  }
}

function readSample<T>(file: string): T {
  return JSON.parse(readFileSync(new URL(file, SAMPLE), 'utf8')) as T
}

/** Deploys the sample scorecard, creates a key, scores, and prints the results. */
async function show(url: string, password: string): Promise<void> {
  const card = readSample<SampleCard>('spec.json')
  const spec = explainedCard(card, readSample<SampleReasons>('reasons.json'))
  const applicants = readSample<DemoApplicant[]>('applicants.json')
  const [first] = applicants
  if (first === undefined) throw new Error('the sample has no applicants')
  const client = await DemoClient.signIn(url, OWNER_EMAIL, password)
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
  console.log(`Sign in as ${OWNER_EMAIL} with the password ${password}:\n`)
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
    console.error(startFailureText(error))
    process.exit(1)
  }
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

  console.log('Starting Scoreline on an embedded database (the first start takes a few seconds) …')
  const password = randomBytes(12).toString('base64url')
  server = await startDemoServer(dataDir, password, isOnce)
  await show(server.url, password)
  if (isOnce) await end()
  console.log(`Scoreline answers at ${server.url} until you press Ctrl-C.`)
}
