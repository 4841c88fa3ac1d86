import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../../src/platform/ids.ts'
import { BatchCaller } from '../../support/batches/batches.ts'
import { statsWith } from '../../support/expect/stats.ts'
import { ConsoleBrowser, type ConsolePage, chromiumPath } from '../../support/start/browser.ts'
import { backends } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'
import { numberedSpec, Team } from '../../support/start/team.ts'

const [backend = expect.fail('there is a database')] = backends
/** The width of A4 between its margins. */
const PAPER_PX = 688

describe.skipIf(chromiumPath() === null)('in a browser', () => {
  let service: TestService
  let team: Team
  let browser: ConsoleBrowser
  let slug: string
  let requestId: string
  let modelId: string
  let webhookId: string

  beforeAll(async () => {
    service = await TestService.start(backend)
    team = await Team.of(service)
    const deployed = await team.deploy(numberedSpec(1))
    slug = deployed.slug
    modelId = deployed.modelId
    const { id } = await team.challenge(slug, numberedSpec(2), 20)
    await team.promote(slug, id)
    await team.challenge(slug, numberedSpec(3), 20)
    await team.register(numberedSpec(4))
    const account = { name: 'Training pipeline', role: 'lead_modeler' }
    await team.done('POST', '/v1/service-accounts', account)
    const webhook = { url: 'https://risk.lender.example/hook' }
    webhookId = (await team.done('POST', '/v1/webhooks', webhook)).id
    for (const income of [1, -1, 1]) requestId = (await team.score(slug, { income })).request_id
    await statsWith(service, team.key, slug, 3)
    await new BatchCaller(service, team.owner).score(slug, 'id,income\nA-1,1\nno\n')
    browser = await ConsoleBrowser.start(service)
  })
  afterAll(async () => {
    await browser?.close()
    await service?.close()
  })

  /** Every page, by its heading. */
  const pages = (): readonly (readonly [place: string, heading: string])[] => [
    ['', 'Overview'],
    [`deployments/${slug}`, 'Summary'],
    [`deployments/${slug}/stability`, 'Stability'],
    [`deployments/${slug}/performance`, 'Performance'],
    [`deployments/${slug}/cutoffs`, 'Cut-off studio'],
    [`deployments/${slug}/challengers`, 'Champion and challengers'],
    [`deployments/${slug}/versions`, 'Versions of the card'],
    [`deployments/${slug}/reasons`, 'Reasons'],
    [`deployments/${slug}/activity`, 'Activity'],
    [`deployments/${slug}/changes`, 'Changes'],
    [`deployments/${slug}/try`, 'Try it'],
    ['models', 'Models'],
    ['models/new', 'Upload a scorecard'],
    ['models/import', 'Import a tool’s card'],
    ['models/backtest', 'Backtest'],
    [`models/${modelId}`, 'Ladder 1.0'],
    ['scores', 'Scores'],
    ['scores?reference=A-1', 'Scores'],
    [`scores/${requestId}`, 'Score'],
    ['batches', 'Batches'],
    ['outcomes', 'Outcomes'],
    ['keys', 'API keys'],
    ['members', 'Members'],
    ['service-accounts', 'Service accounts'],
    ['webhooks', 'Webhooks'],
    [`webhooks/${webhookId}`, 'Webhook'],
    ['account', 'Your account'],
    ['access-review', 'Access review'],
    ['audit', 'Audit log'],
    [`audit?subject=${slug}`, 'Audit log'],
    ['proofs', 'Log and proofs'],
    ['nowhere', 'No such page'],
  ]

  /** Opens a page, and waits until all of it is there. */
  async function open(visitor: ConsolePage, place: string, heading: string): Promise<void> {
    await visitor.go(place)
    await visitor.page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor()
    const loading = visitor.page.locator('.loading')
    await expect.poll(() => loading.count()).toBe(0)
  }

  async function newMember(role: string) {
    const who = { email: `${newId('usr_', 0)}@lender.example`, password: 'a long password' }
    await team.done('POST', '/v1/members', { ...who, role })
    return who
  }

  test('no page and no dialog breaks a rule of access, light or dark', async () => {
    const visitor = await browser.open()
    const { page } = visitor
    await visitor.heading('Sign in')
    const found: string[] = []
    const check = async (what: string, within?: string) => {
      found.push(...(await visitor.violations({ within })).map((one) => `${what}: ${one}`))
      // Between light and dark nothing but colours differs.
      await page.emulateMedia({ colorScheme: 'dark' })
      const inDark = await visitor.violations({ within, rule: 'color-contrast' })
      found.push(...inDark.map((one) => `${what}, dark: ${one}`))
      await page.emulateMedia({ colorScheme: 'light' })
    }
    await check('sign in')
    await visitor.signIn({ email: 'owner@lender.example', password: 'a long enough password' })
    for (const [place, last] of pages()) {
      await open(visitor, place, last)
      await check(place)
    }
    const dialogs = [
      [`deployments/${slug}`, 'Add a challenger'],
      [`deployments/${slug}`, 'Promote: Ladder 3.0'],
      [`deployments/${slug}`, 'Roll back to 1.0: Ladder 2.0'],
      [`models/${modelId}`, 'Copy to staging'],
      [`models/${modelId}`, 'Restore'],
      ['outcomes', 'Define an outcome'],
      ['keys', 'Create a key'],
      ['keys', 'Rotate key of a test'],
      ['keys', 'Change key of a test'],
      ['service-accounts', 'Create a service account'],
      ['service-accounts', 'Revoke Training pipeline'],
      ['members', 'Add a member'],
      ['webhooks', 'Create a webhook'],
      [`webhooks/${webhookId}`, 'Rotate the secret'],
      [`webhooks/${webhookId}`, 'Delete'],
      ['account', 'Sign out everywhere'],
    ] as const
    for (const [place, name] of dialogs) {
      await visitor.go(place)
      await visitor.press(name)
      await page.getByRole('dialog').waitFor()
      await check(name, 'dialog')
      await page.keyboard.press('Escape')
    }
    expect(found).toEqual([])
    await visitor.close()
  })

  test('nothing makes a page wider than its window, or a table than its page', async () => {
    const visitor = await browser.signIn()
    const found: string[] = []
    for (const [place, last] of pages()) {
      await open(visitor, place, last)
      for (const width of [320, 768, 1440]) {
        await visitor.page.setViewportSize({ width, height: 900 })
        const overflowPx = await visitor.overflowPx()
        if (overflowPx > 0) found.push(`${place} by ${overflowPx} of ${width} pixels`)
      }
      // A column beyond the edge of its table is not seen.
      await visitor.page.setViewportSize({ width: 1024, height: 900 })
      const tables = await visitor.page.evaluate<string[]>(
        "[...document.querySelectorAll('.scroll')].filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.getAttribute('aria-label'))",
      )
      found.push(...tables.map((table) => `${place}: ${table}`))
      // What is beyond the edge of A4 is not printed.
      await visitor.page.emulateMedia({ media: 'print' })
      await visitor.page.setViewportSize({ width: PAPER_PX, height: 900 })
      const beyondPx = await visitor.overflowPx()
      if (beyondPx > 0) found.push(`${place} by ${beyondPx} pixels on paper`)
      await visitor.page.emulateMedia({ media: 'screen' })
    }
    expect(found).toEqual([])
    await visitor.close()
  })

  // Pages keep what they have read for each other.
  test('pages open in any order', async () => {
    const visitor = await browser.signIn()
    const { page } = visitor
    const names = await page.getByRole('navigation').first().getByRole('link').allInnerTexts()
    for (const name of [...names, ...names.toReversed()]) {
      await page.getByRole('link', { name, exact: true }).first().click()
      await page.locator('main h1').waitFor()
      await expect.poll(() => page.locator('.loading').count()).toBe(0)
      expect(await page.getByRole('alert').allInnerTexts(), name).toEqual([])
    }
    await visitor.close()
  })

  // A control that is refused teaches a user not to trust what the page offers.
  test('a viewer sees everything that the role permits and no other control', async () => {
    const visitor = await browser.signIn({ who: await newMember('viewer') })
    const links = visitor.page.getByRole('navigation').first().getByRole('link')
    expect(await links.allInnerTexts()).toEqual([
      ...['Overview', 'Models', 'Scores', 'Outcomes', 'Try it', 'Keys'],
    ])
    const controls: Record<string, string[]> = {}
    for (const [place, last] of pages()) {
      await open(visitor, place, last)
      controls[place] = await visitor.controls()
    }
    const some = Object.entries(controls).filter(([, names]) => names.some((name) => name !== ''))
    expect(Object.fromEntries(some)).toEqual({
      '': ['0\nAct', '0\nWatch', '1\nNot judged', '0\nGood'],
      account: ['Sign out everywhere', '', '', 'Change the password'],
      [`deployments/${slug}`]: ['Monthly report', 'Copy the address'],
      [`deployments/${slug}/cutoffs`]: ['Find the cut-off', 'Print', 'Save as CSV'],
      [`deployments/${slug}/performance`]: ['Outcomes and definitions'],
      [`deployments/${slug}/try`]: ['Fill in an example', 'Clear', 'Score'],
      [`models/${modelId}`]: ['Specification'],
      proofs: ['Download the checkpoint', 'Copy the key', 'Prove it'],
      scores: ['Find'],
      'scores?reference=A-1': ['Find'],
      [`scores/${requestId}`]: ['Copy the request id', 'Show', 'Prove that it is unaltered'],
    })
    await visitor.close()
  })

  test('a lead modeler may upload, and change nothing else', async () => {
    const visitor = await browser.signIn({ who: await newMember('lead_modeler') })
    const controls: Record<string, string[]> = {}
    for (const [place, last] of [
      ['models', 'Models'],
      [`models/${modelId}`, 'Ladder 1.0'],
      [`deployments/${slug}`, 'Summary'],
      ['keys', 'API keys'],
      ['outcomes', 'Outcomes'],
    ] as const) {
      await open(visitor, place, last)
      controls[place] = await visitor.controls()
    }
    expect(controls).toEqual({
      models: ['Backtest a card', 'Import a tool’s card', 'Upload a scorecard'],
      [`models/${modelId}`]: ['Specification', 'Copy to staging'],
      [`deployments/${slug}`]: ['Monthly report', 'Copy the address'],
      keys: [],
      outcomes: ['Define an outcome', 'Upload'],
    })
    await visitor.close()
  })

  test('every control is reachable by keyboard alone', async () => {
    const visitor = await browser.signIn()
    const { page } = visitor
    const focused = () => page.evaluate('document.activeElement?.textContent?.trim()')
    await visitor.go(`deployments/${slug}`)
    await visitor.heading('Summary')
    // The heading has the focus, so that a reader of the screen tells it.
    expect(await focused()).toBe('Summary')
    await page.reload()
    await visitor.heading('Summary')
    await page.getByRole('button', { name: 'Add a challenger' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    for (let n = 0; n < 12; n++) {
      await page.keyboard.press('Tab')
      // Beyond its last control the focus goes to the browser's own, never to the page behind.
      expect(await page.evaluate("document.activeElement.closest('dialog, body') !== null")).toBe(
        true,
      )
      expect(await page.evaluate("document.activeElement.matches('main section *')")).toBe(false)
    }
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await focused()).toBe('Add a challenger')
    await visitor.close()
  })

  test('colours follow the system until the user chooses, and stay chosen', async () => {
    const visitor = await browser.signIn({ colorScheme: 'dark' })
    const { page } = visitor
    const background = () => page.evaluate('getComputedStyle(document.body).backgroundColor')
    const dark = await background()
    await page.getByLabel('Theme').selectOption('light')
    const light = await background()
    expect(light).not.toBe(dark)
    await page.reload()
    await visitor.heading('Overview')
    expect(await background()).toBe(light)
    await page.getByLabel('Theme').selectOption('auto')
    expect(await background()).toBe(dark)
    await visitor.close()
  })

  test('a link with the name of a column sorts by it, and a former name is dropped', async () => {
    const visitor = await browser.signIn()
    const sorted = () => new URL(visitor.page.url()).searchParams.get('sort')
    await visitor.go('models?sort=-gini')
    await visitor.page.locator('th[aria-sort="descending"]', { hasText: 'Gini' }).waitFor()
    expect(sorted()).toBe('-gini')
    await visitor.go('models?sort=-power')
    await visitor.page.getByRole('columnheader', { name: 'Gini' }).waitFor()
    await expect.poll(sorted).toBe(null)
    await visitor.go('models?sort=-version')
    const versions = visitor.page.locator('td[data-head="Version"]')
    await versions.first().waitFor()
    const shown = await versions.allInnerTexts()
    expect(shown.slice(0, 4)).toEqual(['4.0', '3.0', '2.0', '1.0'])
    await visitor.close()
  })

  test('members are added, get another role, and are removed', async () => {
    const visitor = await browser.signIn()
    const { page } = visitor
    const email = `${newId('usr_', 0)}@lender.example`.toLowerCase()
    const row = page.getByRole('row', { name: email })
    await visitor.go('members')
    await visitor.press('Add a member')
    await page.getByLabel('Email').fill(email)
    await page.getByLabel('First password').fill('a long password')
    await visitor.press('Add')
    await row.getByText('Viewer').waitFor()
    await visitor.press(`Change role of ${email}`)
    await page.getByLabel('Role', { exact: true }).selectOption('modeler')
    await visitor.press('Save')
    await row.getByText('Modeler').waitFor()
    await visitor.press(`Remove ${email}`)
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await row.waitFor({ state: 'detached' })
    await visitor.go('audit')
    await visitor.sees('removed the member')
    await page.getByRole('region', { name: 'Audit records' }).getByText(email).first().waitFor()
    await visitor.close()
  })

  test('while the service is away the page says so, and goes on when it is back', async () => {
    const visitor = await browser.signIn()
    const { page } = visitor
    await visitor.context.setOffline(true)
    await page.getByRole('link', { name: 'Models', exact: true }).click()
    await visitor.sees(
      'The service does not answer. Check the connection; the page tries again itself.',
    )
    // Another try must not lose the console.
    await visitor.press('Try again')
    await visitor.sees('The service does not answer since')
    await page.getByRole('link', { name: 'Overview', exact: true }).waitFor()
    await visitor.context.setOffline(false)
    await visitor.sees('4.0')
    await visitor.close()
  })
})
