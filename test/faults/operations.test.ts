import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { sampleApplicants, sampleSpec } from '../support/cards/cards.ts'
import { BEST_OF_FOUR } from '../support/expect/tries.ts'
import { TcpProxy } from '../support/servers/tcp-proxy.ts'
import { backends } from '../support/start/databases.ts'
import { post } from '../support/start/process.ts'
import { PROCESS_OWNER, startWithSample } from '../support/start/running.ts'
import { TestService } from '../support/start/service.ts'

/** Status and body of a probe on a connection that is open already, as balancers keep theirs. */
async function probe(agent: Agent, url: string): Promise<{ status: number; body: string }> {
  const [response] = await once(get(url, { agent }), 'response')
  let body = ''
  for await (const text of response.setEncoding('utf8')) body += text
  return { status: response.statusCode, body }
}

// A balancer that learns of the end only by refused connections fails the requests in between. New
// connections are taken for half a second.
test(
  'from SIGTERM on the replica is not ready, and still answers requests',
  BEST_OF_FOUR,
  async () => {
    const { process, url, endpoint, key } = await startWithSample({}, onTestFinished)
    const agents = Array.from({ length: 40 }, () => new Agent({ keepAlive: true, maxSockets: 1 }))
    onTestFinished(() => {
      for (const agent of agents) agent.destroy()
    })
    for (const agent of agents) expect((await probe(agent, `${url}/readyz`)).status).toBe(200)

    const exited = process.stop('SIGTERM')
    const answers: Array<{ status: number; body: string }> = []
    // One of the connections for each question: after it the connection is closed.
    for (const agent of agents) {
      const answer = await probe(agent, `${url}/readyz`)
      answers.push(answer)
      if (answer.status === 503) break
    }
    const last = answers.at(-1)
    expect(last?.status).toBe(503)
    expect(JSON.parse(last?.body ?? '')).toMatchObject({
      status: 'not_ready',
      checks: { process: 'closing' },
    })
    const score = await post(endpoint, { age_in_years: 30 }, key)
    expect(score.status).toBe(200)
    expect((await fetch(`${url}/livez`)).status).toBe(200)
    expect(await exited).toBe(0)
  },
)

// What is in the log is read by more people than may see it, and is kept for longer.
test('the log of mixed traffic at its most verbose level holds no personal data and no secret', async () => {
  const { process, url, endpoint, key, token } = await startWithSample(
    { LOG_LEVEL: 'trace', BODY_LIMIT_BYTES: '200000' },
    onTestFinished,
  )
  // No digits alone: a process id, a port or a time may have any of those in it.
  const marks = {
    value: 'Applicant-Value-quetzal-7319',
    name: 'name_of_an_applicant_quetzal-7319',
    record: 'record-id-quetzal-7319',
    password: 'a wrong password quetzal-7319',
    email: 'somebody.quetzal-7319@lender.example',
    subject: 'routing-key-quetzal-7319',
    path: 'path-quetzal-7319',
    agent: 'agent-quetzal-7319',
  }
  const [first] = sampleApplicants()
  const applicant = { ...first?.applicant, [marks.name]: marks.value, purpose: marks.value }
  const login = { email: marks.email, password: marks.password }
  const calls: Array<[path: string, body: object, bearer?: string]> = [
    ['/api/auth/login', PROCESS_OWNER],
    ['/api/auth/login', login],
    ['/api/auth/login', { ...PROCESS_OWNER, password: marks.password }],
    ['/api/auth/login', { email: marks.email }],
    ['/api/auth/refresh', { refresh_token: marks.password }],
    ['/v1/keys', { name: 'another key' }, token],
    ['/v1/keys', { name: 'another key' }, key],
    ['/v1/keys', { name: 'another key' }, `${token}x`],
    ['/v1/models/deploy', { spec: { ...sampleSpec(), base_points: marks.value } }, token],
    [`/v1/${marks.path}?email=${marks.email}`, applicant, key],
    [`/v1/score/${marks.path}`, applicant, key],
    ['/api/v1/score', { scorecard_id: endpoint.split('/').at(-1), applicant }, key],
  ]
  for (const [path, body, bearer] of calls) await post(`${url}${path}`, body, bearer)
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'x-routing-key': marks.subject,
    'user-agent': marks.agent,
  }
  const send = (to: string, body: string, more = {}) =>
    fetch(to, { method: 'POST', headers: { ...headers, ...more }, body })
  const records = [applicant, { id: marks.record, age_in_years: true }]
  const statuses = [
    await send(endpoint, JSON.stringify(applicant)),
    await send(endpoint, JSON.stringify({ ...applicant, strict_mode: true })),
    await send(endpoint, `{"purpose": "${marks.value}`),
    await send(endpoint, JSON.stringify({ purpose: { [marks.name]: marks.value } })),
    await send(endpoint, JSON.stringify({ purpose: marks.value.repeat(20_000) })),
    await send(`${endpoint}/batch`, JSON.stringify({ records })),
    await send(endpoint, '{}', { authorization: `Bearer ${key}quetzal-7319` }),
    await send(endpoint, '{}', { 'content-type': marks.value }),
    await fetch(`${url}/%${marks.path}`),
  ].map(({ status }) => status)
  expect(new Set(statuses)).toEqual(new Set([200, 400, 401, 413, 415, 422]))
  await process.stop('SIGTERM')

  const secrets = [key, token, PROCESS_OWNER.password, `${key}quetzal-7319`]
  const lines = process.output.split('\n').filter((line) => line.startsWith('{'))
  expect(lines.length).toBeGreaterThan(statuses.length + calls.length)
  // The start repeats to the operator what they configured: only the owner's address.
  const log = lines.join('\n')
  for (const secret of [...Object.values(marks), ...secrets]) expect(log).not.toContain(secret)
  expect(log).not.toContain('quetzal')
  expect(log).not.toMatch(/@|127\.0\.0\.1.*operation|sk_live_|\beyJ|age_in_years|Bearer/)
})

// A line for each score would cost as much as the score, and bury what matters.
test('at the usual level scores write no line, refusals one for many, and changes one each that says when, where, who and what', async () => {
  const beganMs = Date.now()
  const { process, url, endpoint, key, token } = await startWithSample(
    { LOG_LEVEL: 'info' },
    onTestFinished,
  )
  for (let round = 0; round < 50; round++) await post(endpoint, { age_in_years: 30 }, key)
  for (let round = 0; round < 50; round++) await post(endpoint, {}, `${key}x`)
  const created = await post(`${url}/v1/keys`, { name: 'another' }, token)
  expect(created.status).toBe(201)
  await process.stop('SIGTERM')
  const lines = process.output.split('\n').filter((line) => line.includes('"operation"'))
  const logged = lines
    .map((line) => JSON.parse(line))
    // A machine that is busy with other things may make any request slow.
    .filter(({ msg }) => msg !== 'slow request')
  expect(
    logged.map(({ msg, operation, status, count }) => [msg, operation, status, count]),
  ).toEqual([
    ['changed', 'models.deploy', 200, undefined],
    ['changed', 'keys.create', 201, undefined],
    ['caller refused', 'scoring.score', 401, 1],
    ['changed', 'keys.create', 201, undefined],
  ])
  expect(logged.at(-1)).toMatchObject({
    requestId: expect.stringMatching(/^req_/),
    teamId: expect.stringMatching(/^team_/),
    userId: expect.stringMatching(/^usr_/),
    durationMs: expect.any(Number),
  })
  for (const { time, level, pid, hostname } of logged) {
    // Milliseconds since 1970, which know no time zone.
    expect(time).toBeGreaterThanOrEqual(beganMs)
    expect(time).toBeLessThanOrEqual(Date.now())
    expect([level, pid, hostname]).toEqual([
      expect.any(Number),
      expect.any(Number),
      expect.any(String),
    ])
  }
})

describe.skipIf(inject('postgresTemplate') === null)('on PostgreSQL', () => {
  // Not ready at once would turn away the scores that go on without a database; ready for ever,
  // all.
  test('a replica whose database is away stays ready as long as scores go on, and is ready again after', async () => {
    const postgres = backends.find((backend) => backend.name === 'PostgreSQL')
    if (postgres === undefined) throw new Error('no PostgreSQL server was named')
    let aheadMs = 0
    const clock = { epochMs: Date.now, monotonicMs: () => performance.now() + aheadMs }
    let targetPort = 0
    let proxy: TcpProxy | undefined
    const service = await TestService.start(
      {
        name: 'PostgreSQL',
        create: async () => {
          const database = await postgres.create()
          const url = new URL(database.databaseUrl ?? '')
          targetPort = Number(url.port)
          proxy = await TcpProxy.start(targetPort)
          url.port = String(proxy.port)
          return { ...database, databaseUrl: url.href }
        },
      },
      { clock },
    )
    onTestFinished(async () => {
      await service.close()
      await proxy?.close()
    })
    const owner = await service.signIn()
    const slug = await service.deploy(owner, sampleSpec())
    const key = await service.createKey(owner)
    const score = async () =>
      (await service.call({ url: `/v1/score/${slug}`, token: key, body: {} })).statusCode
    const ready = async () => {
      const response = await service.call({ method: 'GET', url: '/readyz' })
      return [response.statusCode, response.json().checks.database]
    }
    expect(await score()).toBe(200)
    expect(await ready()).toEqual([200, 'ok'])

    const port = proxy?.port ?? 0
    await proxy?.close()
    expect((await service.call({ url: '/api/auth/login', body: PROCESS_OWNER })).statusCode).toBe(
      503,
    )
    const fromMemory = [200, expect.stringMatching(/^away \d+ s.*, serving from memory$/)]
    expect([await score(), await ready()]).toEqual([200, fromMemory])
    aheadMs += 60_000
    expect([await score(), await ready()]).toEqual([200, fromMemory])
    aheadMs += 4 * 60 * 60 * 1_000
    expect(await score()).toBe(503)
    expect((await ready())[0]).toBe(503)
    expect((await ready())[1]).toMatch(/^away for 144\d\d s$/)
    expect((await service.call({ method: 'GET', url: '/livez' })).statusCode).toBe(200)

    proxy = await TcpProxy.start(targetPort, port)
    // Without a request, by the probe of its own that every replica makes.
    await expect.poll(ready, { interval: 200 }).toEqual([200, 'ok'])
    expect(await score()).toBe(200)
  })
})
