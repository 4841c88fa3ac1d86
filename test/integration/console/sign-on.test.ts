import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../../support/servers/free-port.ts'
import { TestProvider } from '../../support/servers/openid-provider.ts'
import { ConsoleBrowser, type ConsolePage, chromiumPath } from '../../support/start/browser.ts'
import { backends } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'
import { signOnEnv } from '../../support/start/sign-on.ts'

const BUTTON = 'Sign in with your organisation'

const [backend = expect.fail('there is a database')] = backends

describe.skipIf(chromiumPath() === null)('single sign-on in a browser', () => {
  let provider: TestProvider
  let service: TestService
  let browser: ConsoleBrowser

  beforeAll(async () => {
    const port = await freePort()
    const publicUrl = `http://127.0.0.1:${port}`
    // Another name of the machine is another site, as providers are.
    const redirectUris = [`${publicUrl}/console/callback`]
    provider = await TestProvider.start({ host: 'localhost', redirectUris })
    const person = { email_verified: true, groups: ['/scoreline/modelers'] }
    provider.accounts.set('ann', { ...person, email: 'ann@lender.example' })
    provider.accounts.set('bob', { ...person, email: 'bob@lender.example', groups: [] })
    const env = signOnEnv(provider.issuer, { PUBLIC_URL: publicUrl })
    service = await TestService.start(backend, { env })
    browser = await ConsoleBrowser.start(service, port)
  })
  afterAll(async () => {
    await browser?.close()
    await service?.close()
    await provider?.close()
  })

  /** Goes to the provider by the button, and says who one is there. */
  async function signOnAs(visitor: ConsolePage, name: string): Promise<void> {
    const { page } = visitor
    await visitor.press(BUTTON)
    await page.getByLabel('Name').fill(name)
    await page.getByRole('button', { name: 'Continue' }).click()
  }

  test('a person signs on, works, reloads, and signs out; no token is in an address', async () => {
    const visitor = await browser.open()
    const { page } = visitor
    const addresses: string[] = []
    page.on('framenavigated', (frame) => addresses.push(frame.url()))
    await signOnAs(visitor, 'ann')
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    await page.getByRole('link', { name: 'Your account Modeler' }).waitFor()
    await page.reload()
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    const cookies = await visitor.context.cookies(`${browser.url}/console`)
    expect(cookies.filter(({ name }) => name.startsWith('scoreline'))).toMatchObject([
      { name: 'scoreline_session', httpOnly: true, sameSite: 'Strict', path: '/console' },
    ])
    const [{ value: token = '' } = {}] = cookies.filter(({ name }) => name === 'scoreline_session')
    expect(addresses.filter((url) => url.includes(token) || /eyJ|id_token/.test(url))).toEqual([])
    expect(page.url()).toBe(`${browser.url}/console`)
    await visitor.press('Sign out')
    await page.getByRole('button', { name: BUTTON }).waitFor()
    await visitor.close()
  })

  test('a refusal is shown once, with its reason, on a page without faults', async () => {
    const visitor = await browser.open()
    await signOnAs(visitor, 'bob')
    await visitor.sees('None of your groups has a role here')
    expect(visitor.page.url()).toBe(`${browser.url}/console`)
    expect(await visitor.violations()).toEqual([])
    await visitor.page.reload()
    await visitor.page.getByRole('button', { name: BUTTON }).waitFor()
    expect(await visitor.page.getByText('None of your groups').count()).toBe(0)
    await visitor.close()
  })

  // The page that sends the browser to the provider would lose what is typed in it.
  test('an ended session goes on after a sign-on in another tab, with all that was typed', async () => {
    const visitor = await browser.open()
    const { page, context } = visitor
    await signOnAs(visitor, 'ann')
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    await visitor.go('account')
    await page.getByLabel('Current password').fill('typed before')
    await page.getByLabel('New password').fill('typed before, too')
    await context.clearCookies({ name: 'scoreline_session' })
    const refusal = { status: 401, json: { error: 'unauthorized', message: 'no' } }
    await page.route('**/api/auth/password', (route) => route.fulfill(refusal), { times: 1 })
    await visitor.press('Change the password')
    await visitor.heading('Your session has ended')
    expect(await visitor.violations({ within: 'dialog.cover' })).toEqual([])
    const opened = context.waitForEvent('page')
    await visitor.press(BUTTON)
    const tab = await opened
    await tab.getByRole('button', { name: 'Sign out' }).waitFor()
    // As a browser tells a tab that one comes back to.
    await page.bringToFront()
    await page.evaluate("dispatchEvent(new Event('focus'))")
    await page.getByText('Your session has ended').waitFor({ state: 'detached' })
    expect(await page.getByLabel('Current password').inputValue()).toBe('typed before')
    await visitor.close()
  })

  test('the password stays reachable beside the button', async () => {
    const visitor = await browser.open()
    await visitor.page.getByText('Sign in with a password').click()
    expect(await visitor.violations()).toEqual([])
    await visitor.signIn({ email: 'owner@lender.example', password: 'a long enough password' })
    await visitor.close()
  })

  test('the next renewal takes a removed group from the console', async () => {
    const visitor = await browser.open()
    const { page } = visitor
    await signOnAs(visitor, 'ann')
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    const groups = provider.accounts.get('ann')?.groups ?? []
    const before = groups.splice(0)
    await page.reload()
    await page.getByRole('button', { name: BUTTON }).waitFor()
    groups.push(...before)
    await visitor.close()
  })
})
