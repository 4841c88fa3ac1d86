import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
// The types of what is copied to where the package is installed; the code is loaded there.
import type { ScorelineClient } from '../../../clients/typescript/src/client.ts'
import { run } from '../../../src/cli/types.ts'
import { sampleApplicants } from '../../support/cards/cards.ts'
import {
  type InstalledClient,
  installClient,
  readComplaints,
} from '../../support/clients/installed-client.ts'
import { LossyProxy } from '../../support/servers/lossy-proxy.ts'
import { PROCESS_OWNER, type RunningService, startWithSample } from '../../support/start/running.ts'

type Features = Readonly<Record<string, string | number>>
type Decided = Readonly<Record<'outcome' | 'score' | 'requestId' | 'why', unknown>>

interface Program {
  scoreAnApplicant(url: string, email: string, password: string): Promise<unknown>
}

interface Origination {
  decide(application: { number: string; features: Features }, lender: object): Promise<Decided>
  refer: unknown
}

interface Package {
  readonly ScorelineClient: typeof ScorelineClient
}

const CUTOFF = 500
const FILES = [
  'test/client/packaged/program.ts',
  'test/client/packaged/tsconfig.json',
  'docs/examples/loan-origination.ts',
]
const SHOWN = { timeout: 30_000, interval: 50 }

let installed: InstalledClient
let service: RunningService
let slug: string
/** A key that scores and reads. */
let key: string
const cleaners: (() => Promise<void>)[] = []

beforeAll(async () => {
  installed = await installClient(...FILES)
  service = await startWithSample({}, (clean) => void cleaners.push(clean))
  slug = service.endpoint.split('/').at(-1) ?? ''
  const { ScorelineClient } = await loaded<Package>('node_modules/scoreline-client/dist/index.js')
  const owner = new ScorelineClient({ url: service.url, token: service.token })
  const order = { name: 'origination', scopes: ['score' as const, 'read' as const] }
  key = (await owner.call('POST', '/v1/keys', { body: order })).key
})
afterAll(async () => {
  installed.remove()
  for (const clean of cleaners) await clean()
})

const loaded = async <Module>(file: string): Promise<Module> =>
  (await import(join(installed.dir, file))) as Module

async function lenderAt(url: string) {
  const { ScorelineClient } = await loaded<Package>('node_modules/scoreline-client/dist/index.js')
  const { decide, refer } = await loaded<Origination>('loan-origination.ts')
  const client = new ScorelineClient({ url, token: key })
  const lender = { client, slug, cutoff: CUTOFF, withoutScore: refer }
  return { client, decide, lender }
}

function application(index: number) {
  const { id, applicant, score } = sampleApplicants()[index] ?? expect.fail('it is in the sample')
  return { application: { number: `A-${index}-${id}`, features: applicant }, score }
}

// What users install is the built package: a path that is not in it, or a type that says nothing,
// shows only there.
test('the built package and the example compile with it, and misuse does not', async () => {
  expect(await readComplaints(installed.dir)).toBe('')
})

test('the written type of a deployment compiles with the client, and a misspelt feature does not', async () => {
  const own = await installClient('test/client/packaged/tsconfig.json')
  onTestFinished(own.remove)
  const out = join(own.dir, 'applicant.ts')
  const args = [slug, '--url', service.url, '--out', out]
  const context = { call: 'scoreline types', env: { SCORELINE_TOKEN: key }, onCrash: () => {} }
  expect(await run(args, context)).toEqual({ code: 0, stdout: '', stderr: '' })
  const { applicant } = sampleApplicants()[0] ?? expect.fail('it is in the sample')
  const [feature = ''] = Object.keys(applicant)
  const misspelt = { ...applicant, [feature]: undefined, [`${feature}s`]: applicant[feature] }
  const program = (sent: object) => `import { ScorelineClient } from 'scoreline-client'
    import type { Applicant } from './applicant.ts'
    const applicant: Applicant = ${JSON.stringify(sent)}
    await new ScorelineClient({ url: '', token: '' }).score('', applicant)`
  writeFileSync(join(own.dir, 'program.ts'), program(applicant))
  expect(await readComplaints(own.dir)).toBe('')
  writeFileSync(join(own.dir, 'program.ts'), program(misspelt))
  expect(await readComplaints(own.dir)).toMatch(
    new RegExp(`${feature}s.* does not exist in type 'Applicant'`),
  )
})

test('a program on the built package signs in, deploys and scores', async () => {
  const { scoreAnApplicant } = await loaded<Program>('program.ts')
  const { email, password } = PROCESS_OWNER
  expect(await scoreAnApplicant(service.url, email, password)).toEqual({
    score: 489.5,
    hasPd: true,
    refusal: 'strict_mode_violation',
  })
})

test('the loan origination decides by the score, and an application asked twice is logged once', async () => {
  const { client, decide, lender } = await lenderAt(service.url)
  for (const index of [0, 1, 2, 3]) {
    const { application: asked, score } = application(index)
    const decision = await decide(asked, lender)
    expect(decision).toMatchObject({ score, outcome: score >= CUTOFF ? 'approved' : 'declined' })
    expect(await decide(asked, lender)).toEqual(decision)
    const found = async () => (await client.findScores(asked.number)).scores
    await expect.poll(found, SHOWN).toMatchObject([{ request_id: decision.requestId }])
  }
})

test('where only the answers of scores get lost, it decides by the score that it reads back', async () => {
  const proxy = await LossyProxy.start(service.url, { every: 1, method: 'POST' })
  onTestFinished(() => proxy.close())
  const { decide, lender } = await lenderAt(proxy.url)
  const { application: asked, score } = application(10)
  // On a busy machine the log can show the score after the last look; asked again, it is found.
  const decided = () => decide(asked, lender)
  await expect.poll(decided, SHOWN).toMatchObject({ score, requestId: expect.any(String) })
  expect(proxy.lost).toBeGreaterThanOrEqual(3)
})

test('without a score it does what the lender chose, and a later attempt finds the first score', async () => {
  const proxy = await LossyProxy.start(service.url, { every: 1 })
  onTestFinished(() => proxy.close())
  const { decide, lender } = await lenderAt(proxy.url)
  const { application: asked, score } = application(20)
  expect(await decide(asked, lender)).toMatchObject({ outcome: 'referred', score: null })
  const later = await lenderAt(service.url)
  expect(await decide(asked, later.lender)).toMatchObject({ score })
  const found = async () => (await later.client.findScores(asked.number)).scores.length
  await expect.poll(found, SHOWN).toBe(1)
})

// A wrong key or a wrong address is a fault to mend, and no reason to refer every applicant.
test('a wrong configuration is an error, and not a decision', async () => {
  const { decide, lender } = await lenderAt(service.url)
  const wrong = { ...lender, slug: 'dep_unknown' }
  await expect(decide(application(30).application, wrong)).rejects.toMatchObject({
    code: 'deployment_not_found',
  })
})
