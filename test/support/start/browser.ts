import axe from 'axe-core'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect } from 'vitest'
import { chromiumPath } from '../servers/programs.ts'
import { OWNER, type TestService } from './service.ts'

export { chromiumPath }

interface Visit {
  readonly who?: { readonly email: string; readonly password: string }
  readonly colorScheme?: 'light' | 'dark'
}

/** A browser, and the service that it visits. */
export class ConsoleBrowser {
  url = ''
  private browser: Browser | null = null

  static async start(service: TestService, port = 0): Promise<ConsoleBrowser> {
    const browser = new ConsoleBrowser()
    await browser.launch(service, port)
    return browser
  }

  /** For all tests of a file or group: it starts before them and is closed after them. */
  static forSuite(service: TestService): ConsoleBrowser {
    const browser = new ConsoleBrowser()
    beforeAll(() => browser.launch(service, 0))
    afterAll(() => browser.close())
    return browser
  }

  private async launch(service: TestService, port: number): Promise<void> {
    this.url = await service.app.listen({ host: '127.0.0.1', port })
    const executablePath = chromiumPath() ?? expect.fail('there is a browser')
    // Root, as which containers run, has no sandbox.
    this.browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  }

  async close(): Promise<void> {
    await this.browser?.close()
  }

  /** A page of a browser that nobody has used, before anyone has signed in. */
  async open({ colorScheme = 'light' }: Visit = {}): Promise<ConsolePage> {
    const viewport = { width: 1280, height: 900 }
    const browser = this.browser ?? expect.fail('the browser has started')
    const context = await browser.newContext({ colorScheme, viewport })
    context.setDefaultTimeout(60_000)
    const page = new ConsolePage(context, await context.newPage(), this.url)
    await page.go('')
    return page
  }

  /** The same, signed in. */
  async signIn(visit: Visit = {}): Promise<ConsolePage> {
    const page = await this.open(visit)
    await page.signIn(visit.who ?? OWNER)
    return page
  }
}

/** One person before the console. */
export class ConsolePage {
  readonly context: BrowserContext
  readonly page: Page
  /** What the browser complained of: faults of scripts, and what the policy forbids. */
  readonly complaints: string[] = []
  private readonly url: string

  constructor(context: BrowserContext, page: Page, url: string) {
    this.context = context
    this.page = page
    this.url = url
    page.on('pageerror', (error) => this.complaints.push(error.message))
    page.on('console', (message) => {
      // A refusal that a test asks for is expected.
      const isAnswer = message.text().startsWith('Failed to load resource')
      if (message.type() === 'error' && !isAnswer) this.complaints.push(message.text())
    })
  }

  /** Leaves; nothing may have gone wrong in the browser. */
  async close(): Promise<void> {
    expect(this.complaints).toEqual([])
    await this.context.close()
  }

  /** @param place for instance `models`; empty: where the console begins */
  async go(place: string): Promise<void> {
    await this.page.goto(`${this.url}/console${place && `/${place}`}`)
  }

  async signIn({ email, password }: { email: string; password: string }): Promise<void> {
    await this.page.getByLabel('Email').fill(email)
    await this.page.getByLabel('Password', { exact: true }).fill(password)
    await this.press('Sign in')
    await this.page.getByRole('button', { name: 'Sign out' }).waitFor()
  }

  async press(name: string): Promise<void> {
    await this.page.getByRole('button', { name, exact: true }).click()
  }

  async heading(name: string): Promise<void> {
    await this.page.getByRole('heading', { name, exact: true }).waitFor()
  }

  async sees(text: string): Promise<void> {
    await this.page.getByText(text).first().waitFor()
  }

  /** Names of all buttons and links of the page that do something, but for those of the bar. */
  async controls(): Promise<string[]> {
    const buttons = this.page
      .getByRole('main')
      .locator('button:not(.sorter), a.mantine-Button-root')
    return (await buttons.allInnerTexts()).map((text) => text.trim())
  }

  /**
   * What the rules of WCAG and good practice find wrong with the page.
   *
   * @param within a part of the page, when not all of it
   * @param rule only this one, when not all of them
   */
  async violations(only: { within?: string | undefined; rule?: string } = {}): Promise<string[]> {
    const { within = 'html', rule } = only
    if (!(await this.page.evaluate("'axe' in globalThis"))) await this.page.evaluate(axe.source)
    const options = { resultTypes: ['violations'], ...(rule && { runOnly: [rule] }) }
    return (await this.page.evaluate(
      `axe.run(${JSON.stringify(within)}, ${JSON.stringify(options)}).then(({ violations }) =>
        violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) =>
          id + ' ' + target.join(' ') + ' ' + failureSummary)))`,
    )) as string[]
  }

  /** Pixels by which the page is wider than the window. */
  async overflowPx(): Promise<number> {
    return (await this.page.evaluate('document.documentElement.scrollWidth - innerWidth')) as number
  }
}
