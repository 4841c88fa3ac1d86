import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { freePort } from '../../support/servers/free-port.ts'

const hasHaproxy = spawnSync('haproxy', ['-v']).error === undefined
const published = new URL('../../../docker/haproxy.cfg', import.meta.url)

// A newcomer has no haproxy; continuous integration installs it.
describe.skipIf(!hasHaproxy)('the published configuration of haproxy', () => {
  const directory = mkdtempSync(join(tmpdir(), 'scoreline-haproxy-'))
  /** What reached a replica. */
  let reached: string[] = []
  let forwarded: unknown
  let balancer: ChildProcess
  let port: number
  let metricsPort: number
  let logged = ''
  const replicas = [1, 2].map(() => createServer((incoming, answer) => reply(incoming, answer)))

  function reply(incoming: IncomingMessage, answer: ServerResponse): void {
    const { url = '', method } = incoming
    if (url === '/readyz') {
      answer.end('{}')
      return
    }
    reached.push(`${method} ${url}`)
    forwarded = incoming.headers['x-forwarded-for']
    // As a process that dies in the middle of its work.
    if (url.includes('lost')) incoming.resume().on('end', () => incoming.socket.destroy())
    else if (url.includes('fails')) answer.writeHead(500).end('{}')
    else answer.end('{}')
  }

  beforeAll(async () => {
    const ports: number[] = []
    for (const replica of replicas) {
      await once(replica.listen(0, '127.0.0.1'), 'listening')
      ports.push((replica.address() as AddressInfo).port)
    }
    port = await freePort()
    metricsPort = await freePort()
    const text = readFileSync(published, 'utf8')
      .replace('bind :8080', `bind 127.0.0.1:${port}`)
      .replace('bind :8405', `bind 127.0.0.1:${metricsPort}`)
      .replace('scoreline-1:3000', `127.0.0.1:${ports[0]}`)
      .replace('scoreline-2:3000', `127.0.0.1:${ports[1]}`)
    const file = join(directory, 'haproxy.cfg')
    writeFileSync(file, text)
    balancer = spawn('haproxy', ['-db', '-f', file], { stdio: ['ignore', 'pipe', 'ignore'] })
    balancer.stdout?.setEncoding('utf8').on('data', (part: string) => {
      logged += part
    })
    while ((await call('GET', '/v1/keys').catch(() => null))?.status !== 200) await sleep(100)
  })
  afterAll(() => {
    balancer.kill('SIGKILL')
    for (const replica of replicas) {
      replica.close()
      replica.closeAllConnections()
    }
    rmSync(directory, { recursive: true })
  })
  beforeEach(() => {
    reached = []
    logged = ''
  })

  /** Sends the path letter by letter as it is, which `fetch` would not. */
  async function call(method: string, path: string, body?: string) {
    const headers = { 'x-forwarded-for': '203.0.113.9' }
    const sent = request({ host: '127.0.0.1', port, method, path, headers, agent: false })
    sent.end(body)
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    let text = ''
    for await (const part of response.setEncoding('utf8')) text += part
    return { status: response.statusCode, text, headers: response.headers }
  }

  // Metrics name deployments and teams' traffic: they are for who runs the service.
  test.each([
    ...['/metrics', '/%6detrics', '/%6D%65trics', '/metrics?x', '/livez', '/%72eadyz', '/readyz?'],
    ...[
      '//metrics',
      '/./metrics',
      '/metrics/',
      '/console/../../metrics',
      '/v1',
      '/METRICS',
      '/%2e',
    ],
  ])('%s does not reach the operational path of a replica', async (path) => {
    await call('GET', path)
    for (const one of reached) {
      // The router of the service resolves no dots: a path below a published one stays one.
      expect(one).toMatch(/^GET \/(?:not-found|console\/|v1\/)/)
    }
  })

  test.each([
    ...['/', '/v1/score/dep_x', '/v1/keys?limit=1', '/api/auth/login', '/api/v1/score', '/docs'],
    ...['/console', '/console/models', '/docs/any', '/openapi.json'],
  ])('%s reaches a replica as it is', async (path) => {
    expect((await call('GET', path)).status).toBe(200)
    expect(reached).toEqual([`GET ${path}`])
    expect(forwarded, 'not what the client says').toBe('127.0.0.1')
  })

  // A score whose answer was lost is in the log: asked for by the balancer again, it is there
  // twice.
  test.each(['/v1/score/lost', '/v1/score/lost/batch', '/api/v1/score?lost', '/v1/keys?lost'])(
    'POST %s is sent once, and its lost answer told with the error body',
    async (path) => {
      const { status, text, headers } = await call('POST', path, '{"income":1}')
      expect(reached).toEqual([`POST ${path}`])
      expect(status).toBe(502)
      const body = JSON.parse(text)
      expect(body).toMatchObject({ error: 'unavailable', message: expect.any(String) })
      expect(body.request_id).toMatch(/^req_[0-9A-Za-z]+$/)
      expect(headers['x-request-id']).toBe(body.request_id)
    },
  )

  test('a read whose answer was lost is asked for again', async () => {
    await call('GET', '/v1/models?lost')
    expect(reached.length).toBeGreaterThan(1)
  })

  // With all replicas away nothing but the balancer can say so.
  test('its metrics count the ready replicas, for the alert ScorelineNoServer', async () => {
    const answer = await fetch(`http://127.0.0.1:${metricsPort}/metrics`)
    expect(await answer.text()).toMatch(/^haproxy_backend_active_servers\{proxy="replicas"\} 2$/m)
    expect((await fetch(`http://127.0.0.1:${metricsPort}/v1/keys`)).status).toBe(403)
  })

  test('the log holds status and path of failures, and neither addresses nor queries', async () => {
    await call('GET', '/v1/fine')
    await call('POST', '/v1/score/lost?reference=A-1', '{}')
    await call('GET', '/v1/fails?reference=A-1')
    while (!logged.includes('/v1/fails')) await sleep(20)
    expect(logged).toMatch(/^502 .*POST \/v1\/score\/lost /m)
    expect(logged).toMatch(/^500 .*GET \/v1\/fails /m)
    expect(logged).not.toContain('/v1/fine')
    expect(logged).not.toMatch(/127\.0\.0\.1|203\.0\.113|A-1|Connect from/)
  })
})
