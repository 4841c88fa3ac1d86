import { describe, expect, test } from 'vitest'
import { statsWith } from '../../support/expect/stats.ts'
import { ConsoleBrowser, chromiumPath } from '../../support/start/browser.ts'
import { backends } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'
import { numberedSpec, Team } from '../../support/start/team.ts'

const [backend = expect.fail('there is a database')] = backends

/** The service's clock, behind that of the browser, so that minutes can pass. */
let behindMs = 30 * 60_000
const clock = { epochMs: () => Date.now() - behindMs, monotonicMs: () => performance.now() }

describe.skipIf(chromiumPath() === null)('in a browser', () => {
  const service = TestService.forSuite(backend, { clock })
  const team = Team.forSuite(service)
  const browser = ConsoleBrowser.forSuite(service)

  // Whoever has just scored a first batch saw four empty charts, and no sign of which applicant is
  // which.
  test('answers of one minute are shown as a text, those of several as curves, each with its id', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const ids = ['application-4711', 4712, undefined]
    await team.scoreBatch(
      slug,
      ids.map((id) => ({ ...(id !== undefined && { id }), income: 1500 })),
    )
    await statsWith(service, team.key, slug, 3)
    const visitor = await browser.signIn()
    const { page } = visitor
    await visitor.go(`deployments/${slug}/activity`)
    await visitor.sees('All scores are from one minute')
    const curve = page.getByRole('figure', { name: 'Average probability of default' })
    expect(await curve.count()).toBe(0)
    const recent = page.getByRole('region', { name: 'Newest answers' })
    const rows = (await recent.getByRole('row').allInnerTexts()).map((row) => row.split('\t')[1])
    expect(rows.map((cell) => cell?.trim())).toEqual(['Applicant', '–', '4712', 'application-4711'])

    behindMs -= 3 * 60_000
    await team.ask(slug, { income: 500 })
    await statsWith(service, team.key, slug, 4)
    await page.reload()
    await curve.waitFor()
    expect(await page.getByText('All scores are from one minute').count()).toBe(0)
    await visitor.close()
  })
})
