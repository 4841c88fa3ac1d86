import type { LightMyRequestResponse } from 'fastify'
import { describe, expect, test } from 'vitest'
import { findOutcome } from '../../support/expect/answers.ts'
import { backends } from '../../support/start/databases.ts'
import { ManualClock } from '../../support/start/manual-clock.ts'
import { OWNER, TestService } from '../../support/start/service.ts'

const URL = '/console/session'
type Headers = Readonly<Record<string, string>>

describe.each(backends)('on $name', (backend) => {
  const clock = new ManualClock(Date.now())
  const service = TestService.forSuite(backend, { clock, env: { TRUST_PROXY: '127.0.0.1' } })

  const send = (
    method: 'POST' | 'PUT' | 'DELETE',
    headers: Headers = {},
    payload?: object | string,
  ) => service.app.inject({ method, url: URL, headers, ...(payload !== undefined && { payload }) })
  const signIn = (headers: Headers = {}) => send('POST', headers, OWNER)
  const renew = (cookie: string) => send('PUT', { cookie }, {})
  /** What the browser sends from now on. */
  const readCookie = ({ headers }: LightMyRequestResponse) =>
    String(headers['set-cookie']).split(';')[0] ?? ''
  const listModels = (token: string) => service.call({ method: 'GET', url: '/v1/models', token })

  // Whatever runs in the page could send a refresh token elsewhere, where it is good for 30 days.
  test('the refresh token is in a cookie that no script can read, and nowhere else', async () => {
    const response = await signIn()
    expect(response.headers['cache-control']).toBe('no-store')
    expect(response.json()).toEqual({
      access_token: expect.any(String),
      expires_in: 3600,
      token_type: 'Bearer',
    })
    expect(response.headers['set-cookie']).toMatch(
      /^scoreline_session=[\w-]{43}; Max-Age=2592000; HttpOnly; SameSite=Strict$/,
    )
    expect((await listModels(response.json().access_token)).statusCode).toBe(200)
  })

  const SECURE = /^__Secure-scoreline_session=[\w-]{43}; .*; Secure$/

  test('behind a proxy that speaks TLS the cookie never leaves TLS', async () => {
    const tls = { 'x-forwarded-proto': 'https' }
    const first = await signIn(tls)
    expect(first.headers['set-cookie']).toMatch(SECURE)
    // Another site of the domain could set one of this name without TLS.
    const plain = readCookie(await signIn())
    expect(findOutcome(await send('PUT', { ...tls, cookie: plain }, {}))).toBe(
      '401 invalid_refresh_token',
    )
    const cookie = `${plain}; ${readCookie(first)}`
    const renewed = await send('PUT', { ...tls, cookie }, {})
    expect(renewed.headers['set-cookie']).toMatch(SECURE)
    const ended = await send('DELETE', { ...tls, cookie: readCookie(renewed) })
    expect(ended.headers['set-cookie']).toMatch(
      /^__Secure-scoreline_session=; Max-Age=0; .*Secure$/,
    )
  })

  test('a service whose public address is https needs no proxy to say so', async () => {
    const env = { PUBLIC_URL: 'https://scores.lender.example' }
    const other = await TestService.start(backend, { env })
    const response = await other.app.inject({ method: 'POST', url: URL, payload: OWNER })
    await other.close()
    expect(response.headers['set-cookie']).toMatch(SECURE)
  })

  test('a session is renewed, its cookie replaced', async () => {
    const first = readCookie(await signIn())
    const renewed = await renew(`other=1; ${first}; more=2`)
    expect(renewed.statusCode).toBe(200)
    expect(readCookie(renewed)).not.toBe(first)
    expect((await listModels(renewed.json().access_token)).statusCode).toBe(200)
    expect((await renew(readCookie(renewed))).statusCode).toBe(200)
  })

  test('a cookie that was used before ends the session', async () => {
    const first = readCookie(await signIn())
    const second = readCookie(await renew(first))
    clock.advance(11_000)
    expect(findOutcome(await renew(first))).toBe('401 invalid_refresh_token')
    expect(findOutcome(await renew(second))).toBe('401 invalid_refresh_token')
  })

  // On a shared computer the next one must not be the last one.
  test('signing out ends the session in browser and service', async () => {
    const first = readCookie(await signIn())
    const second = readCookie(await renew(first))
    const response = await send('DELETE', { cookie: second })
    expect(response.statusCode).toBe(204)
    expect(response.headers['set-cookie']).toMatch(/^scoreline_session=; Max-Age=0; /)
    expect(findOutcome(await renew(second))).toBe('401 invalid_refresh_token')
    const other = readCookie(await signIn())
    expect((await send('DELETE', { cookie: other })).statusCode).toBe(204)
    expect((await send('DELETE', { cookie: other })).statusCode).toBe(204)
    expect((await send('DELETE')).statusCode).toBe(204)
  })

  // A cookie that is good for nothing would be sent for 30 days; a stored 401 would outlive it.
  test('the cookie of an ended session is deleted, and the response may not be stored', async () => {
    const cookie = readCookie(await signIn())
    await send('DELETE', { cookie })
    const { headers } = await renew(cookie)
    expect(headers['set-cookie']).toMatch(/^scoreline_session=; Max-Age=0; /)
    expect(headers['cache-control']).toBe('no-store')
  })

  test('signing in again ends the session whose cookie it replaces', async () => {
    const first = readCookie(await signIn())
    const second = readCookie(await signIn({ cookie: first }))
    expect(findOutcome(await renew(first))).toBe('401 invalid_refresh_token')
    expect((await renew(second)).statusCode).toBe(200)
  })

  // What a page of another site can make a browser send without asking the service first.
  test('a request that another site could send is refused', async () => {
    const cookie = readCookie(await signIn())
    const types = ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']
    for (const type of types) {
      const response = await send('POST', { cookie, 'content-type': type }, JSON.stringify(OWNER))
      expect(findOutcome(response)).toBe('415 unsupported_media_type')
      expect(response.headers).not.toHaveProperty('set-cookie')
    }
    const asked = await service.app.inject({
      method: 'OPTIONS',
      url: URL,
      headers: { origin: 'https://evil.example', 'access-control-request-method': 'PUT' },
    })
    expect(asked.headers).not.toHaveProperty('access-control-allow-origin')
    expect((await renew(cookie)).statusCode).toBe(200)
  })

  test('a request without a cookie or with a wrong password signs no user in', async () => {
    for (const cookie of ['', 'scoreline_session=', 'scoreline_session=x', 'a=b']) {
      expect(findOutcome(await renew(cookie))).toBe('401 invalid_refresh_token')
    }
    const wrong = await send('POST', {}, { ...OWNER, password: 'wrong' })
    expect(findOutcome(wrong)).toBe('401 invalid_credentials')
    expect(wrong.headers).not.toHaveProperty('set-cookie')
  })
})
