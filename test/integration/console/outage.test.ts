import { describe, expect, test } from 'vitest'
import { ConsoleBrowser, type ConsolePage, chromiumPath } from '../../support/start/browser.ts'
import { backends } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'

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
  const browser = ConsoleBrowser.forSuite(TestService.forSuite(backend))

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
})
