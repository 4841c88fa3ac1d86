import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readExplainedSample } from '../../../src/cli/demo/explained-card.ts'
import { HistoryClock } from '../../../src/cli/demo/history/clock.ts'
import { historyStartMs, makeHistory } from '../../../src/cli/demo/history/make-history.ts'
import { ConsoleBrowser, type ConsolePage, chromiumPath } from '../../support/start/browser.ts'
import { backends } from '../../support/start/databases.ts'
import { OWNER, TestService } from '../../support/start/service.ts'
import { ROOT } from '../../support/structure/documents.ts'

const [backend = expect.fail('there is a database')] = backends
const IMAGES = join(ROOT, 'docs/images')
/** Larger pictures make the first page slow. */
const PICTURE_BYTES_MAX = 150 * 1024
const HEIGHT_MAX = 900
/** Room for the navigation. */
const HEIGHT_MIN = 800
/** Pixels of the first table of a page that are seen only by scrolling. */
const hiddenPx = '(box => box.scrollWidth - box.clientWidth)(document.querySelector(".scroll"))'

/**
 * The pictures of the documents, of the history that `npm run demo` makes. With `UPDATE_PICTURES`
 * set they are made anew; otherwise the pages must still show what the pictures show.
 */
describe.skipIf(chromiumPath() === null)('in a browser', () => {
  let service: TestService
  let browser: ConsoleBrowser
  let visitor: ConsolePage
  let slug: string

  beforeAll(async () => {
    const clock = new HistoryClock()
    const logFromMs = historyStartMs(clock.epochMs())
    service = await TestService.start(backend, { clock, logFromMs })
    const { services } = service
    const history = await makeHistory({ services, clock, owner: OWNER, ...readExplainedSample() })
    slug = history.deploymentId
    await services.overviewMaker.periodic.runOnce()
    browser = await ConsoleBrowser.start(service)
    visitor = await browser.signIn()
  }, 300_000)
  afterAll(async () => {
    await visitor?.close()
    await browser?.close()
    await service?.close()
  })

  /** Opens a page, and waits until its report is there. */
  async function open(place: string, texts: readonly string[]): Promise<void> {
    await visitor.go(place)
    for (const text of texts) await visitor.sees(text)
    const loading = visitor.page.locator('.loading')
    // The first report starts a thread.
    await expect.poll(() => loading.count()).toBe(0)
  }

  /**
   * Takes the picture where it is asked for; in any case the one that is there must not be large.
   *
   * @param part a selector; the picture ends below it if there is room
   */
  async function picture(name: string, part: string): Promise<void> {
    const { page } = visitor
    // A badge is a pill: its text must not touch its border.
    const paddings = await page.evaluate<string[]>(
      "[...document.querySelectorAll('.badge')].map((one) => getComputedStyle(one).paddingLeft)",
    )
    expect(paddings.length).toBeGreaterThan(0)
    expect(paddings).not.toContain('0px')
    const box = (await page.locator(part).first().boundingBox()) ?? expect.fail(`there is ${part}`)
    const path = join(IMAGES, name)
    if (process.env['UPDATE_PICTURES'] !== undefined) {
      mkdirSync(IMAGES, { recursive: true })
      const end = Math.ceil(box.y + box.height) + 16
      const height = Math.min(Math.max(end, HEIGHT_MIN), HEIGHT_MAX)
      await page.setViewportSize({ width: 1280, height })
      // A button under the mouse would look chosen.
      await page.mouse.move(0, 0)
      await page.screenshot({ path, animations: 'disabled' })
      await page.setViewportSize({ width: 1280, height: 900 })
    }
    expect(statSync(path).size).toBeLessThan(PICTURE_BYTES_MAX)
  }

  test('the first page looks as in its picture', async () => {
    await open('', ['Consumer loans', 'PSI of the score', 'applicants in the week'])
    // A column beyond the edge would not be noticed.
    expect(await visitor.page.evaluate(hiddenPx)).toBe(0)
    await picture('overview.png', '.table-frame')
  })

  test('the stability of a deployment looks as in its picture', async () => {
    await open(`deployments/${slug}/stability`, [
      ...['Consumer loans', 'it is not chance, and it matters', 'Features', 'Over time'],
      // The navigation leads from any page to what needs it.
      'A deployment needs action',
    ])
    await picture('stability.png', '.panel')
    // What a row opens is no wider than its table.
    await visitor.page.setViewportSize({ width: 1440, height: 900 })
    await visitor.page.locator('.opener').first().click()
    const widths = '[...document.querySelectorAll(".scroll")].map((one) => one.scrollWidth)'
    const [table = 0, opened = 0] = await visitor.page.evaluate<number[]>(widths)
    expect(opened).toBeLessThan(table)
    expect(await visitor.page.evaluate(hiddenPx)).toBe(0)
    await visitor.page.setViewportSize({ width: 1280, height: 900 })
  })

  test('the cut-off studio looks as in its picture', async () => {
    await open(`deployments/${slug}/cutoffs?cutoff=480`, [
      ...['Approvals and bads', 'Observed, with interval', 'From 430 to 480', 'would go bad'],
    ])
    await picture('cutoffs.png', '.notice')
  })

  test('the page of one score looks as in its picture', async () => {
    await open('scores?reference=A-012345', ['A-012345'])
    const found = visitor.page.locator('main a[href*="/scores/req_"]').first()
    const place = (await found.getAttribute('href'))?.replace(/^\/console\//, '')
    await open(place ?? expect.fail('it leads to the score'), [
      ...['Score of A-012345', 'Probability of default', 'Points of each feature'],
    ])
    await picture('score.png', 'main > section:nth-of-type(2)')
  })
})
