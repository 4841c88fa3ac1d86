import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { newId } from '../../../src/platform/ids.ts'
import { ConsoleBrowser, type ConsolePage, chromiumPath } from '../../support/start/browser.ts'
import { backends } from '../../support/start/databases.ts'
import { OWNER, TestService } from '../../support/start/service.ts'
import { Team } from '../../support/start/team.ts'

const [backend = expect.fail('there is a database')] = backends

describe.skipIf(chromiumPath() === null)('pages of access in a browser', () => {
  const service = TestService.forSuite(backend)
  const team = Team.forSuite(service)
  const browser = ConsoleBrowser.forSuite(service)

  /** The text of a file that a press of a button stores. */
  async function makeFile({ page }: ConsolePage, button: string): Promise<[string, string]> {
    const stored = page.waitForEvent('download')
    await page.getByRole('button', { name: button }).click()
    const file = await stored
    return [file.suggestedFilename(), readFileSync(await file.path(), 'utf8')]
  }

  test('a service account is made, rotated and revoked, and its tokens work meanwhile', async () => {
    const visitor = await browser.signIn()
    const { page } = visitor
    const name = `pipeline ${newId('svc_', 0)}`
    const ask = async (token: string) =>
      (await service.call({ method: 'GET', url: '/v1/models', token })).statusCode
    await visitor.go('service-accounts')
    await visitor.press('Create a service account')
    await page.getByLabel('Name').fill(name)
    await page.getByLabel('Role', { exact: true }).selectOption('lead_modeler')
    await visitor.press('Create')
    await visitor.heading('Copy the token now')
    const first = await page.locator('.secret').innerText()
    expect(await ask(first)).toBe(200)
    await visitor.press('I have stored it')
    await visitor.press(`Rotate ${name}`)
    await page.getByLabel('The old token').selectOption('stays valid for an hour')
    await visitor.press('Rotate')
    await visitor.heading('Copy the token now')
    const second = await page.locator('.secret').innerText()
    expect([await ask(first), await ask(second)]).toEqual([200, 200])
    await visitor.press('I have stored it')
    expect(await page.content()).not.toContain(second)
    await visitor.press(`Revoke ${name}`)
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('row', { name: new RegExp(name) }).waitFor({ state: 'detached' })
    expect([await ask(first), await ask(second)]).toEqual([401, 401])
    await visitor.close()
  })

  test('a key gets an end and addresses, and a new secret', async () => {
    const visitor = await browser.signIn()
    const { page } = visitor
    const name = `server ${newId('key_', 0)}`
    await visitor.go('keys')
    await visitor.press('Create a key')
    await page.getByLabel('Name').fill(name)
    const day = new Date(Date.now() + 10 * 86_400_000).toISOString().slice(0, 10)
    await page.getByLabel('Last day (UTC)').fill(day)
    await page.getByLabel('Accepted from').fill('10.0.0.0/8, 192.0.2.1')
    await visitor.press('Create')
    await visitor.press('I have stored it')
    const { keys } = await team.done('GET', '/v1/keys')
    const made = keys.find((key: { name: string }) => key.name === name)
    const end = new Date(Date.parse(`${day}T00:00:00Z`) + 86_400_000).toISOString()
    expect(made).toMatchObject({
      expires_at: end,
      allowed_addresses: ['10.0.0.0/8', '192.0.2.1'],
    })
    await visitor.press(`Rotate ${name}`)
    await visitor.press('Rotate')
    await visitor.heading('Copy the key now')
    await visitor.press('I have stored it')
    await visitor.close()
  })

  test('a member ends a session of theirs and changes their password', async () => {
    const who = { email: `${newId('usr_', 0)}@lender.example`, password: 'a long password' }
    await team.done('POST', '/v1/members', { ...who, role: 'viewer' })
    const elsewhere = await service.call({ url: '/api/auth/login', body: who })
    const visitor = await browser.signIn({ who })
    const { page } = visitor
    await visitor.go('account')
    await page.getByRole('row', { name: 'this one' }).waitFor()
    await visitor.press('End this session')
    await page.getByRole('dialog').getByRole('button', { name: 'End it' }).click()
    await page.getByRole('button', { name: 'End this session' }).waitFor({ state: 'detached' })
    const body = { refresh_token: elsewhere.json().refresh_token }
    expect((await service.call({ url: '/api/auth/refresh', body })).statusCode).toBe(401)
    await page.getByLabel('Current password').fill('wrong password')
    await page.getByLabel('New password').fill('another long password')
    await visitor.press('Change the password')
    await visitor.sees('The current password is wrong')
    await page.getByLabel('Current password').fill(who.password)
    await visitor.press('Change the password')
    await visitor.sees('Your password is changed')
    const login = { email: who.email, password: 'another long password' }
    expect((await service.call({ url: '/api/auth/login', body: login })).statusCode).toBe(200)
    await visitor.close()
  })

  test('last sign-ins are shown, and access review and audit log are stored as files', async () => {
    const visitor = await browser.signIn()
    await visitor.go('members')
    const row = visitor.page.getByRole('row', { name: OWNER.email })
    await row.locator('td').nth(2).locator('time').waitFor()
    await visitor.go('account')
    const session = visitor.page.getByRole('row', { name: 'this one' })
    await session.getByText('127.0.0.1').waitFor()
    await session.getByText(/^Chrome on /).waitFor()
    await visitor.go('access-review')
    await visitor.page
      .getByRole('row', { name: OWNER.email })
      .getByText('Owner', { exact: true })
      .waitFor()
    // Of a member only the sign-in is known: what it permits may have been used since.
    await visitor.page.getByRole('columnheader', { name: 'Last used, or signed in' }).waitFor()
    const [review, csv] = await makeFile(visitor, 'Access review as CSV')
    expect(review).toBe('access-review.csv')
    expect(csv).toContain(OWNER.email)
    await visitor.go('audit')
    const [log, lines] = await makeFile(visitor, 'Export as NDJSON')
    expect(log).toBe('audit-log.ndjson')
    const last = lines.trimEnd().split('\n').at(-1) ?? ''
    expect(JSON.parse(last).action).toBe('audit_log.export')
    await visitor.close()
  })

  // An auditor asks who changed what and when, and takes the answer along.
  test('the audit log answers by who, what and when, in sentences and as CSV', async () => {
    const who = { email: `${newId('usr_', 0)}@lender.example`, password: 'a long password' }
    await team.done('POST', '/v1/members', { ...who, role: 'auditor' })
    const { id } = await team.done('POST', '/v1/keys', { name: 'audited key' })
    await team.call('DELETE', `/v1/keys/${id}`)
    const visitor = await browser.signIn({ who })
    const { page } = visitor
    await visitor.go('audit')
    const records = page.getByRole('region', { name: 'Audit records' })
    await records.getByText(`added the member ${who.email}`).waitFor()
    await page.getByLabel('What was done').selectOption('key.')
    await records.getByText(`added the member ${who.email}`).waitFor({ state: 'detached' })
    await records.getByText(`${OWNER.email} revoked the key`).first().waitFor()
    await page.getByLabel('Who').selectOption({ label: who.email.toLowerCase() })
    await visitor.sees('No record matches')
    expect(new URL(page.url()).searchParams.get('action')).toBe('key.')
    await page.getByLabel('Who').selectOption({ label: OWNER.email })
    await records.getByText('revoked the key').first().waitFor()
    const [name, csv] = await makeFile(visitor, 'These records as CSV')
    expect(name).toBe('audit-log.csv')
    const [head, ...rows] = csv.trimEnd().split('\r\n')
    expect(head).toMatch(/^id,created_at,actor,actor_email,action/)
    expect(rows.length).toBeGreaterThan(1)
    expect(rows.filter((row) => !row.includes(',key.'))).toEqual([])
    await makeFile(visitor, 'Export as NDJSON')
    await page.getByLabel('What was done').selectOption('')
    await page.getByLabel('Reads, too').check()
    await page.getByLabel('Who').selectOption({ label: who.email.toLowerCase() })
    await records.getByText('exported the audit log').first().waitFor()
    await visitor.close()
  })
})
