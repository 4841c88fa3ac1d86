import { describe, expect, test } from 'vitest'
import { newId } from '../../../src/platform/ids.ts'
import { ConsoleBrowser, type ConsolePage, chromiumPath } from '../../support/start/browser.ts'
import { backends } from '../../support/start/databases.ts'
import { OWNER, TestService } from '../../support/start/service.ts'
import { Team } from '../../support/start/team.ts'

const [backend = expect.fail('there is a database')] = backends

describe.skipIf(chromiumPath() === null)('in a browser', () => {
  const service = TestService.forSuite(backend)
  const team = Team.forSuite(service)
  const browser = ConsoleBrowser.forSuite(service)

  const cookies = ({ context }: ConsolePage) => context.cookies()

  async function newMember(role: string) {
    const who = { email: `${newId('usr_', 0)}@lender.example`, password: 'a long password' }
    await team.done('POST', '/v1/members', { ...who, role })
    return who
  }

  test('signing out while the service is away ends the session as soon as it answers', async () => {
    const visitor = await browser.signIn()
    const { page, context } = visitor
    await context.setOffline(true)
    await visitor.press('Sign out')
    await visitor.sees('The service does not answer.')
    expect(await page.getByRole('button', { name: 'Sign out' }).count()).toBe(0)
    await context.setOffline(false)
    // What the browser still holds must not sign anybody in.
    await page.reload()
    await visitor.heading('Sign in')
    expect(await cookies(visitor)).toEqual([])
    await visitor.signIn(OWNER)
    await page.reload()
    await visitor.heading('Overview')
    await visitor.close()
  })

  // What A was about to do would be done by B, and be B's in the audit log.
  test('a tab does not go on as another user who signed in in the same browser', async () => {
    const visitor = await browser.signIn()
    const { page, context } = visitor
    await visitor.go('keys')
    await visitor.heading('API keys')
    const tab = await context.newPage()
    // As if it had been asleep: it is not told.
    await tab.addInitScript('BroadcastChannel.prototype.postMessage = () => {}')
    await tab.goto(`${browser.url}/console`)
    await tab.getByRole('button', { name: 'Sign out' }).click()
    const who = await newMember('admin')
    await tab.getByLabel('Email').fill(who.email)
    await tab.getByLabel('Password', { exact: true }).fill(who.password)
    await tab.getByRole('button', { name: 'Sign in' }).click()
    await tab.getByRole('button', { name: 'Sign out' }).waitFor()
    const name = `made by ${newId('key_', 0)}`
    await visitor.press('Create a key')
    await page.getByLabel('Name').fill(name)
    // The access token is over, as after an hour.
    await page.route(
      '**/v1/keys',
      (route) => route.fulfill({ status: 401, json: { error: 'unauthorized', message: 'no' } }),
      { times: 1 },
    )
    await visitor.press('Create')
    await visitor.heading('Sign in')
    const { keys } = await team.done('GET', '/v1/keys')
    expect(keys.map((key: { name: string }) => key.name)).not.toContain(name)
    await visitor.close()
  })

  // A reason of ten lines, typed over lunch, must outlast the session.
  test('a session that ends amid a form loses nothing typed, and the next sign-in goes on', async () => {
    const visitor = await browser.signIn()
    const { page, context } = visitor
    await visitor.go('keys')
    await visitor.press('Create a key')
    const name = `typed before ${newId('key_', 0)}`
    await page.getByLabel('Name').fill(name)
    await context.clearCookies()
    await page.route(
      '**/v1/keys',
      (route) => route.fulfill({ status: 401, json: { error: 'unauthorized', message: 'no' } }),
      { times: 1 },
    )
    await visitor.press('Create')
    await visitor.heading('Your session has ended')
    expect(await visitor.violations({ within: 'dialog.cover' })).toEqual([])
    // No key leads past it.
    for (const key of ['Escape', 'Escape']) await page.keyboard.press(key)
    await visitor.heading('Your session has ended')
    await page.getByLabel('Email').fill(OWNER.email)
    await page.getByLabel('Password', { exact: true }).fill(OWNER.password)
    await page.keyboard.press('Enter')
    await page.getByText('Your session has ended').waitFor({ state: 'detached' })
    expect(await page.getByLabel('Name').inputValue()).toBe(name)
    await visitor.press('Create')
    await visitor.heading('Copy the key now')
    // The secret is there once: only its button closes it.
    for (const key of ['Escape', 'Escape']) await page.keyboard.press(key)
    await visitor.press('I have stored it')
    await visitor.sees(name)
    await visitor.close()
  })

  test('signing in as another user in one tab ends the session in the others', async () => {
    const visitor = await browser.signIn()
    const tab = await visitor.context.newPage()
    await tab.goto(`${browser.url}/console/keys`)
    await tab.getByRole('heading', { name: 'API keys' }).waitFor()
    const who = await newMember('viewer')
    // A third tab, whose sign-in page was open all the time.
    const third = await visitor.context.newPage()
    await third.route('**/console/session', (route) =>
      route.request().method() === 'PUT'
        ? route.fulfill({ status: 401, json: { error: 'invalid_refresh_token', message: 'no' } })
        : route.continue(),
    )
    await third.goto(`${browser.url}/console`)
    await third.getByLabel('Email').fill(who.email)
    await third.getByLabel('Password', { exact: true }).fill(who.password)
    await third.getByRole('button', { name: 'Sign in' }).click()
    await tab.getByRole('heading', { name: 'Sign in' }).waitFor()
    await visitor.heading('Sign in')
    await visitor.close()
  })

  // Else the tab would be signed in for an hour after everybody was signed out.
  test('a renewal that runs while another tab signs out signs no user in', async () => {
    const visitor = await browser.open()
    const { page, context } = visitor
    await visitor.signIn(OWNER)
    const tab = await context.newPage()
    await tab.goto(`${browser.url}/console`)
    await tab.getByRole('button', { name: 'Sign out' }).waitFor()
    const hold = Promise.withResolvers<void>()
    const asked = Promise.withResolvers<void>()
    await page.route('**/console/session', async (route) => {
      const response = await route.fetch()
      asked.resolve()
      await hold.promise
      await route.fulfill({ response })
    })
    await page.reload()
    await asked.promise
    await tab.getByRole('button', { name: 'Sign out' }).click()
    await tab.getByRole('heading', { name: 'Sign in' }).waitFor()
    hold.resolve()
    await visitor.heading('Sign in')
    await visitor.close()
  })
})
