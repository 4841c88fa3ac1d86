import { describe, expect, test } from 'vitest'
import { statsWith } from '../../support/expect/stats.ts'
import { ConsoleBrowser, chromiumPath } from '../../support/start/browser.ts'
import { backends } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'
import { numberedSpec, Team } from '../../support/start/team.ts'

const [backend = expect.fail('there is a database')] = backends

/** As long as a name may be, without a blank, with markup, and from right to left at the end. */
const NAME = `${'W'.repeat(180)}<img/src=x/onerror=alert(1)>بطاقة`

describe.skipIf(chromiumPath() === null)('in a browser', () => {
  const service = TestService.forSuite(backend)
  const team = Team.forSuite(service)
  const browser = ConsoleBrowser.forSuite(service)

  test('a name of any length and any letters makes no page or table wider', async () => {
    const { features, ...rest } = numberedSpec(100, { name: NAME })
    const named = features.map((feature) => ({ ...feature, name: NAME }))
    const { slug, modelId } = await team.deploy({ ...rest, features: named })
    const { request_id: requestId } = await team.score(slug, { [NAME]: 1 })
    // Two scores make the chart of the model, whose legend has its name.
    await team.score(slug, { [NAME]: -1 })
    await statsWith(service, team.key, slug, 2)
    const visitor = await browser.signIn()
    const { page } = visitor
    await page.setViewportSize({ width: 1024, height: 900 })
    const found: string[] = []
    for (const place of [
      '',
      'models',
      'try',
      `deployments/${slug}`,
      `deployments/${slug}/try`,
      `deployments/${slug}/activity`,
      `deployments/${slug}/versions`,
      `scores/${requestId}`,
      `models/${modelId}`,
    ]) {
      await visitor.go(place)
      await page.getByText(NAME).first().waitFor({ state: 'attached' })
      await expect.poll(() => page.locator('.loading').count()).toBe(0)
      // A table may scroll for its many columns, but a name alone is wider than that.
      const widestPx = await page.evaluate(
        "Math.max(0, ...[...document.querySelectorAll('.scroll')].map((one) => one.scrollWidth))",
      )
      if ((await visitor.overflowPx()) > 0 || Number(widestPx) > 1500) found.push(place)
    }
    expect(found).toEqual([])
    await visitor.close()
  })

  test('a long name makes no dialog wider', async () => {
    await team.done('POST', '/v1/keys', { name: NAME })
    const visitor = await browser.signIn()
    await visitor.go('keys')
    await visitor.press(`Rotate ${NAME}`)
    const dialog = visitor.page.getByRole('dialog')
    expect(await dialog.evaluate((box) => box.scrollWidth - box.clientWidth)).toBe(0)
    await visitor.close()
  })

  test('the days of a period can be typed', async () => {
    const visitor = await browser.signIn()
    const { page } = visitor
    await visitor.go('audit')
    const day = page.getByLabel('First day (UTC)')
    await day.focus()
    await page.keyboard.type('11212026')
    await expect.poll(() => page.url()).toContain('from=2026-11-21')
    await visitor.press('Show all records')
    await expect.poll(() => day.inputValue()).toBe('')
    await visitor.close()
  })

  test('a search finds a name in capital letters, as it is written', async () => {
    await team.deploy(numberedSpec(2, { name: 'Car Loans' }))
    await team.deploy(numberedSpec(3, { name: 'Mortgages' }))
    const visitor = await browser.signIn()
    const { page } = visitor
    await page.getByRole('link', { name: 'Mortgages' }).waitFor()
    await page.getByLabel('Search').fill('Car L')
    await visitor.sees('1 match')
    await page.getByRole('link', { name: 'Car Loans' }).waitFor()
    await visitor.close()
  })
})
