import { expect, test } from 'vitest'
import { backends } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'

const [backend = expect.fail('there is a database')] = backends
const service = TestService.forSuite(backend)

const get = (url: string) => service.call({ method: 'GET', url })

/** URLs that a browser would fetch for a page at /docs. */
function addressesIn(html: string): string[] {
  return [...html.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address = '']) => address)
}

// A lender's network lets nothing out, and nobody outside should learn that somebody reads this
// page.
test('the page and all that it loads come from the service', async () => {
  const page = await get('/docs')
  expect(page.statusCode).toBe(200)
  expect(page.headers['content-type']).toBe('text/html; charset=utf-8')
  const addresses = addressesIn(page.body)
  expect(addresses.length).toBeGreaterThan(4)
  expect(addresses.filter((address) => !/^\/docs\/static\/[\w.-]+$/.test(address))).toEqual([])
  for (const address of addresses) {
    const asset = await get(address)
    expect([address, asset.statusCode, asset.body.length > 0]).toEqual([address, 200, true])
    expect(asset.headers['x-content-type-options']).toBe('nosniff')
    if (!address.endsWith('.css')) continue
    const fetched = [...asset.body.matchAll(/(?:url\(|@import)\s*["']?([^"')]*)/g)]
    expect(fetched.map(([, url = '']) => url).filter((url) => !url.startsWith('data:'))).toEqual([])
  }
  const settings = (await get('/docs/static/swagger-initializer.js')).body
  expect(settings).toContain('"validatorUrl":null')
  expect(settings).not.toMatch(/https?:\/\/(?!stackoverflow\.com)/)
})

// Should an asset name another host after all, the browser must not go there.
test('the policy of the page lets the browser speak to the service alone', async () => {
  const { headers } = await get('/docs')
  const policy = String(headers['content-security-policy'])
  expect(policy).toContain("default-src 'none'")
  const sources = policy.split(';').flatMap((part) => part.trim().split(/\s+/).slice(1))
  expect(new Set(sources)).toEqual(new Set(["'none'", "'self'", "'unsafe-inline'", 'data:']))
  expect(policy).toMatch(/script-src 'self';/)
})

test('the page shows the document of the service', async () => {
  const [shown, document] = [await get('/docs/json'), await get('/openapi.json')]
  expect(shown.json()).toEqual(document.json())
})

test('an asset that does not exist is answered with the error body', async () => {
  for (const url of ['/docs/static/none.js', '/docs/static/..%2f..%2fpackage.json', '/docs/none']) {
    const response = await get(url)
    expect([url, response.statusCode, response.json().error]).toEqual([url, 404, 'not_found'])
  }
})
