import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../../src/platform/ids/ids.ts'
import { BatchCaller } from '../../support/batches/batches.ts'
import { statsWith } from '../../support/expect/stats.ts'
import { ConsoleBrowser, type ConsolePage, chromiumPath } from '../../support/start/browser.ts'
import { backends } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'
import { numberedSpec, Team } from '../../support/start/team.ts'

/** Links from each page of a deployment to its reports. */
const REPORTS = ['Stability', 'Cut-offs', 'Challengers', 'Versions', 'Reasons']

const [backend = expect.fail('there is a database')] = backends

describe.skipIf(chromiumPath() === null)('in a browser', () => {
  let service: TestService
  let team: Team
  let browser: ConsoleBrowser
  let slug: string
  let requestId: string
  let modelId: string

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
    for (const income of [1, -1, 1]) requestId = (await team.score(slug, { income })).request_id
    await statsWith(service, team.key, slug, 3)
    await new BatchCaller(service, team.owner).score(slug, 'id,income\nA-1,1\nno\n')
    browser = await ConsoleBrowser.start(service)
  })
  afterAll(async () => {
    await browser?.close()
    await service?.close()
  })

  /** Every page, by what tells that it is there in full. */
  const pages = (): readonly (readonly [place: string, last: string])[] => [
    ['deployments', '20 %'],
    [`deployments/${slug}`, 'Newest answers'],
    [`deployments/${slug}/stability`, 'income: cells'],
    [`deployments/${slug}/cutoffs`, 'By grade'],
    [`deployments/${slug}/swap-set`, 'Migration of grades'],
    [`deployments/${slug}/versions`, 'Features, most changed first'],
    [`deployments/${slug}/reasons`, 'The champion gives no reasons'],
    ['models', '4.0'],
    ['models/new', 'Description (optional)'],
    ['models/import', 'Sample with scores (optional)'],
    [`models/${modelId}`, 'Risk grades'],
    ['scores', 'Which score?'],
    [`scores/${requestId}`, 'What would have changed it'],
    ['batches', 'Results'],
    ['try', 'Deployment'],
    [`try/${slug}`, 'income'],
    ['keys', 'key of a test'],
    ['members', 'owner@lender.example'],
    ['service-accounts', 'Training pipeline'],
    ['account', 'Change the password'],
    ['audit', 'deployment: promote'],
    [`audit/${slug}`, 'deployment: promote'],
    ['nowhere', 'There is nothing here'],
  ]

  async function newMember(role: string) {
    const who = { email: `${newId('usr_', 0)}@lender.example`, password: 'a long password' }
    await team.done('POST', '/v1/members', { ...who, role })
    return who
  }

  const isDrawn = ({ page }: ConsolePage) => page.locator('.plot canvas').nth(1).waitFor()

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
      await visitor.go(place)
      await visitor.sees(last)
      if (place === `deployments/${slug}`) await isDrawn(visitor)
      await check(place)
    }
    const dialogs = [
      [`deployments/${slug}`, 'Add a challenger'],
      [`deployments/${slug}`, 'Promote Ladder 3.0'],
      [`deployments/${slug}`, 'Roll back to Ladder 1.0'],
      ['keys', 'Create a key'],
      ['keys', 'Rotate key of a test'],
      ['service-accounts', 'Create a service account'],
      ['service-accounts', 'Revoke Training pipeline'],
      ['members', 'Add a member'],
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

  test('nothing makes a page wider than its window', async () => {
    const visitor = await browser.signIn()
    const found: string[] = []
    for (const [place, last] of pages()) {
      await visitor.go(place)
      await visitor.sees(last)
      for (const width of [320, 768, 1440]) {
        await visitor.page.setViewportSize({ width, height: 900 })
        const overflowPx = await visitor.overflowPx()
        if (overflowPx > 0) found.push(`${place} by ${overflowPx} of ${width} pixels`)
      }
    }
    expect(found).toEqual([])
    await visitor.close()
  })

  // A control that is refused teaches a user not to trust what the page offers.
  test('a viewer sees everything that the role permits and no other control', async () => {
    const visitor = await browser.signIn({ who: await newMember('viewer') })
    const links = visitor.page.getByRole('navigation').getByRole('link')
    expect(await links.allInnerTexts()).toEqual([
      ...['Deployments', 'Models', 'Scores', 'Try it', 'Keys'],
    ])
    const controls: Record<string, string[]> = {}
    const shown = pages().filter(
      ([place]) => !/^(members|service-accounts|audit|batches|models\/(new|import))/.test(place),
    )
    for (const [place, last] of shown) {
      await visitor.go(place)
      await visitor.sees(last)
      controls[place] = await visitor.controls()
    }
    expect(controls).toEqual({
      deployments: [],
      [`deployments/${slug}`]: [...REPORTS, 'Performance', 'Try it', 'Copy the address'],
      [`deployments/${slug}/stability`]: REPORTS,
      [`deployments/${slug}/cutoffs`]: [...REPORTS, 'Print', 'Save as CSV'],
      [`deployments/${slug}/swap-set`]: REPORTS,
      [`deployments/${slug}/versions`]: REPORTS,
      [`deployments/${slug}/reasons`]: REPORTS,
      models: [],
      [`models/${modelId}`]: [],
      try: [],
      keys: [],
      account: ['Change the password'],
      nowhere: [],
      scores: ['Find'],
      [`scores/${requestId}`]: ['Copy the request id', 'Show'],
      [`try/${slug}`]: ['Use this key', 'Fill in an example', 'Clear', 'Score'],
    })
    for (const place of ['members', 'service-accounts', 'audit', `audit/${slug}`]) {
      await visitor.go(place)
      await visitor.heading('No such page')
    }
    await visitor.go('models/new')
    await visitor.sees("Your role can't upload")
    expect(await visitor.controls()).toEqual([])
    await visitor.go('models/import')
    await visitor.sees("Your role can't import")
    expect(await visitor.controls()).toEqual([])
    await visitor.close()
  })

  test('a lead modeler may upload, and change nothing else', async () => {
    const visitor = await browser.signIn({ who: await newMember('lead_modeler') })
    await visitor.go('models')
    await visitor.sees('4.0')
    expect(await visitor.controls()).toEqual([
      'Backtest a card',
      'Upload a scorecard',
      "Import a tool's card",
    ])
    await visitor.go(`deployments/${slug}`)
    await visitor.sees('Newest answers')
    expect(await visitor.controls()).toEqual([
      ...REPORTS,
      'Performance',
      'Try it',
      'Copy the address',
    ])
    await visitor.close()
  })

  test('every control is reachable by keyboard alone', async () => {
    const visitor = await browser.signIn()
    const { page } = visitor
    const focused = () => page.evaluate('document.activeElement?.textContent?.trim()')
    await visitor.go(`deployments/${slug}`)
    await visitor.heading('Ladder')
    // The heading has the focus, so that a reader of the screen tells it.
    expect(await focused()).toBe('Ladder')
    await page.reload()
    await visitor.heading('Ladder')
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
    await visitor.heading('Deployments')
    expect(await background()).toBe(light)
    await page.getByLabel('Theme').selectOption('system')
    expect(await background()).toBe(dark)
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
    await page
      .getByRole('row', { name: 'member: delete' })
      .first()
      .getByText(email)
      .first()
      .waitFor()
    await visitor.close()
  })

  test('while the service is away the page says so, and goes on when it is back', async () => {
    const visitor = await browser.signIn()
    const { page } = visitor
    await visitor.context.setOffline(true)
    await page.getByRole('link', { name: 'Models', exact: true }).click()
    await visitor.sees('The service does not answer. Check the connection, then try again.')
    await visitor.context.setOffline(false)
    await visitor.press('Try again')
    await visitor.sees('4.0')
    await visitor.close()
  })
})
