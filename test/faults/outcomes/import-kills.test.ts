import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { backends, type TestDatabase } from '../../support/start/databases.ts'
import { post, ServiceProcess } from '../../support/start/process.ts'
import { numberedSpec } from '../../support/start/team.ts'

const OWNER = { email: 'owner@lender.example', password: 'a long enough password' }
const APPLICANTS = 40
const LINES = Number(process.env['SCORELINE_TEST_OUTCOMES'] ?? 25_000)
const KILLS = 3
const RECORDS = 500

let running: ServiceProcess | undefined
let database: TestDatabase | undefined

afterEach(async () => {
  await running?.stop('SIGKILL')
  await database?.drop()
})

async function start(): Promise<string> {
  running = ServiceProcess.start({
    DATA_DIR: database?.dataDir ?? '',
    ...(database?.databaseUrl && { DATABASE_URL: database.databaseUrl }),
    JWT_SECRET: 'secret of the tests, long enough',
    BOOTSTRAP_OWNER_EMAIL: OWNER.email,
    BOOTSTRAP_OWNER_PASSWORD: OWNER.password,
    RATE_LIMIT_PER_MINUTE: '1000000',
  })
  return running.url()
}

describe.each(backends)('on $name', (backend) => {
  // A lender sends a year at a time: a crash in the middle must neither lose nor double a line.
  test('a file of outcomes counts each line once, over kills in the middle', async () => {
    database = await backend.create()
    let url = await start()
    const login = await post(`${url}/api/auth/login`, OWNER)
    const token = String(login.body['access_token'])
    const send = async (method: string, path: string, body?: string, type = 'application/json') => {
      const headers: Record<string, string> = { authorization: `Bearer ${token}` }
      if (body !== undefined) headers['content-type'] = type
      const init = body === undefined ? { method, headers } : { method, headers, body }
      return (await (await fetch(url + path, init)).json()) as Record<string, unknown>
    }
    const order = { spec: numberedSpec(1), environment: 'production', auto_deploy: true }
    const deployed = await post(`${url}/v1/models/deploy`, order, token)
    const { slug } = deployed.body['deployment'] as { slug: string }
    const key = String((await post(`${url}/v1/keys`, { name: 'k' }, token)).body['key'])
    const definition = { label: 'b', window_months: 12, bad_rule_text: 'b', maturity_months: 0 }
    await send('PUT', '/v1/outcome-definitions/gb12', JSON.stringify(definition))
    const lines: string[] = []
    const batches = Math.max(1, Math.ceil(LINES / RECORDS))
    for (let batch = 0; batch < batches; batch++) {
      const records = Array.from({ length: RECORDS }, (_, n) => ({
        id: `${batch}-${n}`,
        income: n,
      }))
      const scored = await post(`${url}/v1/score/${slug}/batch`, { records }, key)
      const id = String(scored.body['request_id'])
      for (let n = 0; n < RECORDS; n++) {
        const outcome = n % APPLICANTS === 0 ? 'bad' : 'good'
        lines.push(`${id},${n},performance,gb12,${outcome},2026-06-30`)
      }
    }
    const head = 'request_id,record_index,kind,definition,outcome,as_of\n'
    const startedAtMs = performance.now()
    const file = head + lines.join('\n')
    const { id } = await send('POST', '/v1/outcomes/imports', file, 'text/csv')
    const read = () => send('GET', `/v1/outcomes/imports/${id}`)
    for (let kill = 0; kill < KILLS; kill++) {
      await delay(100 + kill * 150)
      await running?.stop('SIGKILL')
      url = await start()
    }
    await expect
      .poll(async () => (await read())['status'], { timeout: 240_000, interval: 250 })
      .toBe('done')
    const seconds = (performance.now() - startedAtMs) / 1000
    const found = await read()
    expect(found).toMatchObject({
      lines: lines.length + 1,
      counts: { invalid: 0, ambiguous: 0, revised: 0 },
      errors: [],
    })
    const { accepted, unchanged, unmatched } = found['counts'] as Record<string, number>
    expect((accepted ?? 0) + (unchanged ?? 0) + (unmatched ?? 0)).toBe(lines.length)
    // What was sent before its score was drained is attached by now.
    const path = `/v1/deployments/${slug}/performance?definition=gb12`
    await expect
      .poll(async () => (await send('GET', path))['n'], { timeout: 60_000, interval: 500 })
      .toBe(lines.length)
    process.stderr.write(`${lines.length} outcomes in ${seconds.toFixed(1)} s, 3 kills\n`)
  }, 400_000)
})
