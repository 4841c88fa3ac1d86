import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../../src/platform/ids/ids.ts'
import { ConsoleBrowser, type ConsolePage, chromiumPath } from '../../support/start/browser.ts'
import { backends } from '../../support/start/databases.ts'
import { OWNER, TestService } from '../../support/start/service.ts'
import { numberedSpec, Team } from '../../support/start/team.ts'

const [backend = expect.fail('there is a database')] = backends

describe.skipIf(chromiumPath() === null)('in a browser', () => {
  let service: TestService
  let team: Team
  let browser: ConsoleBrowser
  let slug: string

  beforeAll(async () => {
    service = await TestService.start(backend)
    team = await Team.of(service)
    browser = await ConsoleBrowser.start(service)
    slug = (await team.deploy(numberedSpec(1))).slug
  })
  afterAll(async () => {
    await browser?.close()
    await service?.close()
  })

  /** Ids of the keys in force that were made for trying. */
  const trialKeys = async (): Promise<string[]> => {
    const { keys } = await team.done('GET', '/v1/keys')
    const made = keys.filter(({ name }: { name: string }) => name === 'Tried in the console')
    return made.map(({ id }: { id: string }) => id)
  }
  const noTrialKey = () => expect.poll(trialKeys).toEqual([])
  const makeKey = async (visitor: ConsolePage) => {
    await visitor.go(`try/${slug}`)
    await visitor.press('Make a key for this visit')
    await visitor.sees('Scores with a temporary key')
  }
  const cookies = ({ context }: ConsolePage) => context.cookies()

  async function newMember(role: string) {
    const who = { email: `${newId('usr_', 0)}@lender.example`, password: 'a long password' }
    await team.done('POST', '/v1/members', { ...who, role })
    return who
  }

  // A person who believes to be signed out leaves the computer to the next one.
  test('signing out works although the key for trying is gone', async () => {
    const visitor = await browser.signIn()
    await makeKey(visitor)
    for (const id of await trialKeys()) await team.call('DELETE', `/v1/keys/${id}`)
    await visitor.press('Sign out')
    await visitor.heading('Sign in')
    expect(await cookies(visitor)).toEqual([])
    await visitor.close()
  })

  test('a key for trying that was revoked elsewhere is forgotten when it is to be revoked', async () => {
    const visitor = await browser.signIn()
    await makeKey(visitor)
    for (const id of await trialKeys()) await team.call('DELETE', `/v1/keys/${id}`)
    await visitor.press('Revoke the key')
    await makeKey(visitor)
    await visitor.press('Sign out')
    await visitor.heading('Sign in')
    await noTrialKey()
    await visitor.close()
  })

  // Else a double click makes two of what was asked for once.
  test('a second press while the first is under way does nothing', async () => {
    const visitor = await browser.signIn()
    await visitor.go(`try/${slug}`)
    await visitor.sees('Make a key for this visit')
    await visitor.page.evaluate(`{
      const named = (one) => one.textContent === 'Make a key for this visit'
      const button = [...document.querySelectorAll('button')].find(named)
      button.click()
      button.click()
    }`)
    await visitor.sees('Scores with a temporary key')
    expect(await trialKeys()).toHaveLength(1)
    await visitor.press('Sign out')
    await visitor.heading('Sign in')
    await noTrialKey()
    await visitor.close()
  })

  // Otherwise whoever signs in next in this tab scores with the rights of the one before.
  test('a key for trying ends in each tab when its user signs out in one', async () => {
    const visitor = await browser.signIn()
    await makeKey(visitor)
    const tab = await visitor.context.newPage()
    await tab.goto(`${browser.url}/console#/keys`)
    await tab.getByRole('button', { name: 'Sign out' }).click()
    await visitor.heading('Sign in')
    await noTrialKey()
    await visitor.signIn(await newMember('viewer'))
    await visitor.go(`try/${slug}`)
    await visitor.sees('A key to score with')
    await visitor.press('Sign out')
    await visitor.heading('Sign in')
    expect(await cookies(visitor)).toEqual([])
    await visitor.close()
  })

  test('a key for trying in one environment does not score in the other', async () => {
    const staged = await team.deploy(numberedSpec(2, { name: 'Staged' }), 'staging')
    const visitor = await browser.signIn()
    await makeKey(visitor)
    await visitor.go(`try/${staged.slug}`)
    await visitor.sees('A key to score with')
    const score = visitor.page.getByRole('button', { name: 'Score', exact: true })
    expect(await score.isDisabled()).toBe(true)
    await visitor.press('Make a key for this visit')
    await visitor.sees('(staging)')
    await visitor.press('Sign out')
    await visitor.heading('Sign in')
    await noTrialKey()
    await visitor.close()
  })

  test('signing out while the service is away ends the session as soon as it answers', async () => {
    const visitor = await browser.signIn()
    const { page, context } = visitor
    await makeKey(visitor)
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
    await visitor.heading('Deployments')
    for (const id of await trialKeys()) await team.call('DELETE', `/v1/keys/${id}`)
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
    await tab.getByLabel('Password').fill(who.password)
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

  test('signing in as another user in one tab ends the session in the others', async () => {
    const visitor = await browser.signIn()
    const tab = await visitor.context.newPage()
    await tab.goto(`${browser.url}/console#/keys`)
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
    await third.getByLabel('Password').fill(who.password)
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
