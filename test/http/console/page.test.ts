import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { backends } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'

const [backend = expect.fail('there is a database')] = backends
const service = TestService.forSuite(backend)

const get = (url: string, headers: Record<string, string> = {}) =>
  service.app.inject({ method: 'GET', url, headers })

/** What the page loads, and what that loads in turn. */
async function assets(): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  const add = async (address: string) => {
    if (found.has(address)) return
    const { statusCode, body } = await get(address)
    expect([address, statusCode]).toEqual([address, 200])
    found.set(address, body)
    const parts = /(?:import\(?|from|url\()["'`]?(\.[\w./-]+\.(?:js|css|woff2))/g
    for (const [, specifier = ''] of body.matchAll(parts)) {
      await add(new URL(specifier, `http://host${address}`).pathname)
    }
  }
  const page = (await get('/console')).body
  for (const [, address = ''] of page.matchAll(/(?:src|href)="([^"]*)"/g)) {
    if (!address.startsWith('data:')) await add(new URL(address, 'http://host/console').pathname)
  }
  return found
}

// A lender's network lets nothing out; and one script of elsewhere would read all that the user
// may.
test('the page and all that it loads come from the service', async () => {
  const found = await assets()
  expect(found.size).toBeGreaterThan(20)
  for (const [address, body] of found) {
    expect(address).toMatch(/^\/console\/assets\/[\w.-]+-[\w-]{8}\.(js|css|woff2)$/)
    expect(body.length).toBeGreaterThan(0)
    const elsewhere = [...body.matchAll(/(?:url\(|@import)\s*["']?(?!data:|\.\/)([\w:/.]+\.\w+)/g)]
    expect(elsewhere.map(([, url]) => url)).toEqual([])
  }
  const page = (await get('/console')).body
  expect(page).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon\w+=/)
})

// A newcomer opens the address that the start printed; a program must not take a page for an
// answer.
test('/ leads a browser to the console, and answers a program as an unknown path', async () => {
  const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
  for (const method of ['GET', 'HEAD'] as const) {
    const { statusCode, headers } = await service.app.inject({
      method,
      url: '/',
      headers: { accept },
    })
    expect([statusCode, headers.location, headers.vary]).toEqual([302, 'console', 'accept'])
  }
  for (const headers of [{}, { accept: '*/*' }, { accept: 'application/json' }]) {
    const response = await get('/', headers as Record<string, string>)
    expect([response.statusCode, response.json().error]).toEqual([404, 'not_found'])
  }
  expect((await get('/openapi.json')).json().paths).not.toHaveProperty('/')
})

test('the policy lets the browser run and reach nothing but the service', async () => {
  const { headers } = await get('/console')
  expect(headers['content-security-policy']).toBe(
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; connect-src 'self'; img-src 'self' data:; " +
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  )
  expect(headers['x-content-type-options']).toBe('nosniff')
  expect(headers['referrer-policy']).toBe('no-referrer')
})

// A proxy may serve the service under any path, so each address leads to the files by itself.
test('the page of any address of the console has addresses that lead to its files', async () => {
  for (const path of [
    '/console',
    '/console/keys',
    '/console/deployments/dep_1/stability?by=week',
  ]) {
    const { statusCode, body } = await get(path)
    const [, address = ''] = /<script[^>]* src="([^"]+)"/.exec(body) ?? []
    expect(statusCode).toBe(200)
    expect(address).not.toMatch(/^\//)
    const found = await get(new URL(address, `http://host${path}`).pathname)
    expect([path, found.statusCode]).toEqual([path, 200])
  }
})

test('an asset is kept for good under its name, the page is asked for anew', async () => {
  const page = await get('/console')
  expect(page.headers['cache-control']).toBe('no-cache')
  const [address = ''] = (await assets()).keys()
  const asset = await get(address)
  expect(asset.headers['cache-control']).toBe('public, max-age=31536000, immutable')
  const kept = await get(address, { 'if-none-match': String(asset.headers.etag) })
  expect([kept.statusCode, kept.body]).toEqual([304, ''])
})

test('a compressed response has the same content', async () => {
  for (const url of [...(await assets()).keys()].filter((name) => !name.endsWith('.woff2'))) {
    const plain = await get(url)
    const [brotli, gzip] = [
      await get(url, { 'accept-encoding': 'gzip, br' }),
      await get(url, { 'accept-encoding': 'gzip' }),
    ]
    const encodings = [plain, brotli, gzip].map(({ headers }) => headers['content-encoding'])
    expect(encodings).toEqual([undefined, 'br', 'gzip'])
    expect(brotliDecompressSync(brotli.rawPayload).equals(plain.rawPayload), url).toBe(true)
    expect(gunzipSync(gzip.rawPayload).equals(plain.rawPayload), url).toBe(true)
    const refused = await get(url, { 'accept-encoding': 'gzip;q=0' })
    expect(refused.headers).not.toHaveProperty('content-encoding')
  }
})

// A cache between would hand the compressed form to whoever can't read it.
test('each form has its own tag, and its response names the headers that it depends on', async () => {
  for (const url of [...(await assets()).keys()].slice(0, 2)) {
    const packing = { 'accept-encoding': 'gzip' }
    const tags = [await get(url), await get(url, packing)].map(({ headers }) =>
      String(headers.etag),
    )
    expect(new Set(tags).size, url).toBe(2)
    const again = await get(url, { ...packing, 'if-none-match': tags[1] ?? '' })
    expect([again.statusCode, again.headers['vary']]).toEqual([304, 'accept-encoding'])
    const head = await service.app.inject({ method: 'HEAD', url })
    expect([head.statusCode, head.headers['etag'], head.body]).toEqual([200, tags[0], ''])
  }
})

test('an unknown asset answers with the error body', async () => {
  for (const name of ['none.js', '..%2findex.html', '..%2f..%2fplugin.ts', '__proto__', '.']) {
    const response = await get(`/console/assets/${name}`)
    expect([name, response.statusCode, response.json().error]).toEqual([name, 404, 'not_found'])
    expect(response.headers['cache-control']).toBeUndefined()
  }
})

// Addresses of the page are relative: below a slash they would lead elsewhere.
test('the address with a slash leads to the one without', async () => {
  const response = await get('/console/')
  expect([response.statusCode, response.headers['location']]).toEqual([308, '../console'])
})
