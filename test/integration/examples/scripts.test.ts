import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { ScorelineClient } from '../../../clients/typescript/src/client.ts'
import { sampleApplicants } from '../../support/cards/cards.ts'
import { hasCurl } from '../../support/servers/programs.ts'
import { type RunningService, startWithSample } from '../../support/start/running.ts'
import { ROOT, readText } from '../../support/structure/documents.ts'

const run = promisify(execFile)
const FOLDER = join(ROOT, 'docs/examples')
const CARD = join(FOLDER, 'deploy-card/consumer-loans')
const PATH = `${dirname(process.execPath)}${delimiter}${process.env['PATH']}`

describe.skipIf(!hasCurl())('the examples', () => {
  let service: RunningService
  let owner: ScorelineClient
  const cleaners: (() => Promise<void>)[] = []

  beforeAll(async () => {
    service = await startWithSample({}, (clean) => void cleaners.push(clean))
    owner = new ScorelineClient({ url: service.url, token: service.token })
  })
  afterAll(async () => {
    for (const clean of cleaners) await clean()
  })

  async function makeKey(order: object): Promise<string> {
    const { key } = await owner.call('POST', '/v1/keys', { body: { name: 'a key', ...order } })
    return key
  }

  /** A deployment in production of a card of two features. */
  async function newDeployment(): Promise<string> {
    const options = JSON.parse(readFileSync(join(CARD, 'options.json'), 'utf8'))
    const { registered } = await owner.importCard({
      ...options,
      version: '1.0.0',
      card: readFileSync(join(CARD, 'card.csv'), 'utf8'),
      register: { environment: 'production', auto_deploy: true },
    })
    return registered?.deployment?.slug ?? expect.fail('it is deployed')
  }

  const models = async () => (await owner.call('GET', '/v1/models')).models.length

  async function deployCard(env: Readonly<Record<string, string>>, folder = CARD) {
    const role = 'admin'
    const account = await owner.call('POST', '/v1/service-accounts', {
      body: { name: 'Pipeline', role },
    })
    const settings = {
      PATH,
      SCORELINE_URL: service.url,
      SCORELINE_TOKEN: account.token,
      SCORELINE_KEY: await makeKey({ environment: 'staging' }),
      ...env,
    }
    return run(join(FOLDER, 'deploy-card/deploy.sh'), [folder], { env: settings })
  }

  test('curl scores an applicant once, and reads the score back', async () => {
    const slug = service.endpoint.split('/').at(-1) ?? ''
    const [sample = expect.fail('there is a sample')] = sampleApplicants()
    const env = {
      PATH,
      URL: service.url,
      SLUG: slug,
      KEY: await makeKey({ scopes: ['score', 'read'] }),
    }
    const args = ['A-4711', JSON.stringify(sample.applicant)]
    const first = await run(join(FOLDER, 'score.sh'), args, { env })
    const [scored, logged] = first.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(scored).toMatchObject({ score: sample.score })
    expect(logged).toMatchObject({ request_id: scored.request_id, reference: 'A-4711' })
    const again = await run(join(FOLDER, 'score.sh'), args, { env })
    expect(again.stdout).toBe(first.stdout)
  })

  test('curl shows what is wrong, and ends with 1', async () => {
    const env = { PATH, URL: service.url, SLUG: 'dep_unknown', KEY: service.key }
    const failure = await run(join(FOLDER, 'score.sh'), ['A-1', '{}'], { env }).catch((one) => one)
    expect(failure).toMatchObject({ code: 1 })
    expect(JSON.parse(failure.stdout)).toMatchObject({ error: 'deployment_not_found' })
  })

  test('a merged card runs in shadow mode, with the certificate of its check', async () => {
    const slug = await newDeployment()
    const env = { DEPLOYMENT: slug, RELEASE: 'commit-1' }
    const first = await deployCard(env)
    expect(first.stdout).toMatch(/5 of 5 rows equal to the bit, 0 faults/)
    const path = { path: { slug } }
    const deployment = await owner.call('GET', '/v1/deployments/{slug}', path)
    expect(deployment).toMatchObject({
      shadow_mode: true,
      champion_model: { version: '1.0.0' },
      challengers: [{ model_version: '2.0.0' }],
    })
    const model = await owner.call('GET', '/v1/models/{id}', {
      path: { id: deployment.challengers[0]?.model_id ?? '' },
    })
    expect(model.parity).toMatchObject({ agrees: true, rows: 5 })
  })

  test('a job that runs again with the same account and release changes nothing', async () => {
    const slug = await newDeployment()
    const body = { name: 'Pipeline', role: 'admin' as const }
    const { token } = await owner.call('POST', '/v1/service-accounts', { body })
    const env = { DEPLOYMENT: slug, RELEASE: 'commit-2', SCORELINE_TOKEN: token, MODE: 'promote' }
    const key = { SCORELINE_KEY: await makeKey({ environment: 'staging' }) }
    const first = await deployCard({ ...env, ...key })
    const registered = await models()
    const path = { path: { slug } }
    const before = await owner.call('GET', '/v1/deployments/{slug}', path)
    expect(before.champion_model.version).toBe('2.0.0')
    const again = await deployCard({ ...env, ...key })
    expect(again.stdout).toBe(first.stdout)
    expect(await models()).toBe(registered)
    expect(await owner.call('GET', '/v1/deployments/{slug}', path)).toEqual(before)
  })

  test('a card whose scores differ from those of the tool stops before anything is registered', async () => {
    const slug = await newDeployment()
    const folder = mkdtempSync(join(tmpdir(), 'scoreline-card-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    cpSync(CARD, folder, { recursive: true })
    const sample = readFileSync(join(CARD, 'sample.csv'), 'utf8').replace(',426', ',427')
    writeFileSync(join(folder, 'sample.csv'), sample)
    const registered = await models()
    const env = { DEPLOYMENT: slug, RELEASE: 'commit-3' }
    const failure = await deployCard(env, folder).catch((one) => one)
    expect(failure).toMatchObject({ code: 1 })
    expect(failure.stderr).toMatch(/"expected_score": 427/)
    expect(await models()).toBe(registered)
  })

  test('where approval is required, the card waits for a second person', async () => {
    const slug = await newDeployment()
    await owner.call('PATCH', '/v1/deployments/{slug}', {
      path: { slug },
      body: { require_approval: true },
    })
    const { stdout } = await deployCard({ DEPLOYMENT: slug, RELEASE: 'commit-4' })
    expect(stdout).toMatch(/chg_\w+ waits for approval/)
    const deployment = await owner.call('GET', '/v1/deployments/{slug}', { path: { slug } })
    expect(deployment).toMatchObject({ shadow_mode: false, challengers: [] })
  })
})

// A variable that the workflow forgets ends the job after the merge.
test('the workflow gives the script every variable that it reads', () => {
  const script = readText('docs/examples/deploy-card/deploy.sh')
  const read = [...script.matchAll(/\$\{([A-Z_]+):(?:\?|-shadow)/g)].map(([, name]) => name)
  const workflow = parse(readText('docs/examples/deploy-card/workflow.yml'))
  const step = workflow.jobs.deploy.steps.find((one: { run?: string }) => one.run !== undefined)
  expect(step.run).toMatch(/^\.\/deploy\.sh /)
  expect(Object.keys(step.env).sort()).toEqual(read.sort())
})
