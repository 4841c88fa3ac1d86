import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Clock } from '../../../src/platform/clock.ts'
import { sampleApplicants, sampleSpec } from '../../support/cards/cards.ts'
import { statsWith } from '../../support/expect/stats.ts'
import { ConsoleBrowser, chromiumPath } from '../../support/start/browser.ts'
import { backends } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'
import { Team } from '../../support/start/team.ts'
import { ROOT } from '../../support/structure/documents.ts'

const [backend = expect.fail('there is a database')] = backends
const IMAGES = join(ROOT, 'docs/images')
/** Larger pictures make the first page slow. */
const PICTURE_BYTES_MAX = 150 * 1024
const STEPS = 94
const STEP_MS = 15 * 60_000

/** The time of day, so far back as is set. */
class ShiftedClock implements Clock {
  backMs = STEPS * STEP_MS

  epochMs(): number {
    return Date.now() - this.backMs
  }

  monotonicMs(): number {
    return performance.now()
  }
}

/** Few applicants at night, most in the afternoon. */
function applicantsAt(step: number): number {
  return Math.round(7 + 5 * Math.sin((2 * Math.PI * (step - 30)) / 96))
}

/**
 * The pictures of the first page. With `UPDATE_PICTURES` set they are made anew; otherwise the
 * pages must still show what the pictures show.
 */
describe.skipIf(chromiumPath() === null)('in a browser', () => {
  let service: TestService
  let browser: ConsoleBrowser
  let slug: string

  beforeAll(async () => {
    const clock = new ShiftedClock()
    service = await TestService.start(backend, { clock })
    const team = await Team.of(service)
    const champion = sampleSpec()
    slug = (await team.deploy(champion)).slug
    // The next version asks more of those who have saved nothing.
    const [savings = expect.fail('the sample has features'), ...others] = champion.features
    const bins = savings.bins.map((bin, at) => (at === 0 ? { ...bin, points: -40 } : bin))
    const features = [{ ...savings, bins }, ...others]
    const successor = { ...champion, version: '1.1.0', features }
    await team.challenge(slug, successor, 20)
    const applicants = sampleApplicants()
    let total = 0
    for (let step = 0; step < STEPS; step++) {
      clock.backMs = (STEPS - step) * STEP_MS
      for (let n = 0; n < applicantsAt(step); n++) {
        const { applicant } =
          applicants[total++ % applicants.length] ?? expect.fail('there are some')
        expect((await team.ask(slug, applicant)).statusCode).toBe(200)
      }
    }
    clock.backMs = 0
    await statsWith(service, team.key, slug, total)
    browser = await ConsoleBrowser.start(service)
  }, 120_000)
  afterAll(async () => {
    await browser?.close()
    await service?.close()
  })

  /**
   * Takes the picture where it is asked for; in any case the one that is there must not be large.
   *
   * @param part what it shows: the window of a page, or a part of the page
   */
  async function picture(part: Page | Locator, name: string): Promise<void> {
    const path = join(IMAGES, name)
    if (process.env['UPDATE_PICTURES'] !== undefined) {
      mkdirSync(IMAGES, { recursive: true })
      await part.screenshot({ path, animations: 'disabled' })
    }
    expect(statSync(path).size).toBeLessThan(PICTURE_BYTES_MAX)
  }

  test('a deployment looks as in the picture of the first page', async () => {
    const visitor = await browser.signIn()
    const { page } = visitor
    await visitor.go(`deployments/${slug}`)
    await visitor.heading('German credit')
    for (const text of ['1.0.0', '1.1.0', '20 %', 'Newest answers']) await visitor.sees(text)
    await page.locator('.plot canvas').nth(3).waitFor()
    // A badge is a pill: its text must not touch its border.
    const paddings = await page.evaluate<string[]>(
      "[...document.querySelectorAll('.badge')].map((badge) => getComputedStyle(badge).paddingLeft)",
    )
    expect(paddings.length).toBeGreaterThan(2)
    expect(paddings).not.toContain('0px')
    // Ends below the first row of charts, so that none is cut.
    // The first report starts a thread.
    const loading = () => page.getByText('Loading …').count()
    await expect.poll(loading, { timeout: 20_000 }).toBe(0)
    const chart = await page.locator('figure.chart').nth(1).boundingBox()
    const height = Math.ceil((chart?.y ?? 0) + (chart?.height ?? 890))
    await page.setViewportSize({ width: 1280, height })
    // A button under the mouse would look chosen.
    await page.mouse.move(0, 0)
    await picture(page, 'deployment.png')
    await visitor.close()
  })

  test('the score of an applicant looks as in the picture of the first page', async () => {
    const visitor = await browser.signIn()
    const { page } = visitor
    await visitor.go(`try/${slug}`)
    await visitor.press('Make a key for this visit')
    await visitor.press('Fill in an example')
    await visitor.press('Score')
    await visitor.heading('Result')
    for (const text of ['Probability of default', 'Base points', 'credit_amount']) {
      await visitor.sees(text)
    }
    await expect.poll(() => page.getByRole('table').locator('tr').count()).toBeGreaterThan(14)
    await picture(page.getByRole('region', { name: 'Result' }), 'score.png')
    await visitor.close()
  })
})
