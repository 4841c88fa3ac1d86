import { describe, expect, test } from 'vitest'
import { ConsoleBrowser, type ConsolePage, chromiumPath } from '../../support/start/browser.ts'
import { backends } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'
import { Team } from '../../support/start/team.ts'

const [backend = expect.fail('there is a database')] = backends
const AWAY = 'The service does not answer since'

/** Lets the service take requests and answer none, as one that is stopped, until it is let go on. */
async function freeze({ page }: ConsolePage): Promise<() => void> {
  const going = Promise.withResolvers<void>()
  await page.route('**/*', async (route) => {
    await going.promise
    await route.continue().catch(() => undefined)
  })
  return going.resolve
}

describe.skipIf(chromiumPath() === null)('in a browser', () => {
  const service = TestService.forSuite(backend)
  const team = Team.forSuite(service)
  const browser = ConsoleBrowser.forSuite(service)

  test('a service that hangs while the code of a page loads is named, and the page comes', async () => {
    const visitor = await browser.signIn()
    const { page } = visitor
    const goOn = await freeze(visitor)
    await page.getByRole('link', { name: 'Webhooks' }).click()
    await page.getByText(AWAY).waitFor({ timeout: 7_000 })
    expect(await visitor.violations()).toEqual([])
    goOn()
    await visitor.heading('Webhooks')
    await page.getByText(AWAY).waitFor({ state: 'detached' })
    await visitor.close()
  })

  test('a page that only stands open says that the service is away, and is fresh afterwards', async () => {
    const visitor = await browser.signIn()
    const { page, context } = visitor
    await page.clock.install()
    await visitor.go('keys')
    await page.getByRole('table').waitFor()
    await context.setOffline(true)
    await page.clock.fastForward(30_000)
    await page.getByText(AWAY).waitFor({ timeout: 5_000 })
    await context.setOffline(false)
    await team.done('POST', '/v1/keys', { name: 'of the outage', scopes: ['score'] })
    await page.clock.fastForward(5_000)
    await page.getByText(AWAY).waitFor({ state: 'detached', timeout: 5_000 })
    await page.getByText('of the outage').waitFor({ timeout: 5_000 })

    // One that hangs is no other.
    const goOn = await freeze(visitor)
    await page.clock.fastForward(30_000)
    await page.clock.fastForward(2_500)
    await page.getByText(AWAY).waitFor({ timeout: 5_000 })
    goOn()
    await page.getByText(AWAY).waitFor({ state: 'detached', timeout: 5_000 })
    await visitor.close()
  })
})
